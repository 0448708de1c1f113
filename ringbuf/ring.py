"""What all rings have in common: counters in C, columns in NumPy."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringbuf import _core
from ringbuf.ends import Ends
from ringbuf.errors import Closed, Overrun, PeerDied, RingFull
from ringbuf.layout import RingSpec, align

Column = NDArray[Any]
SAMPLES = "samples"  # the one column with several items a slot


def map_columns(memory: memoryview, offset: int, spec: RingSpec) -> dict[str, Column]:
    """NumPy views of a ring's columns.

    Args:
        memory: the whole arena.
        offset: where the ring's slots begin.
        spec: the ring.

    Returns:
        Name to array of shape [capacity]; samples: [capacity, block].
    """
    views: dict[str, Column] = {}
    offsets = column_offsets(offset, spec)
    for (name, (dtype, items)), at in zip(spec.columns.items(), offsets, strict=True):
        column = np.frombuffer(memory, np.dtype(dtype), items * spec.capacity, at)
        views[name] = column.reshape(spec.capacity, items) if name == SAMPLES else column
    return views


def map_slots(memory: memoryview, offset: int, spec: RingSpec) -> _core.Columns:
    """The numbers of each slot as plain ints, in the order of the columns; without the samples."""
    offsets = column_offsets(offset, spec)
    chosen = [
        (np.dtype(dtype).char, at)
        for (name, (dtype, _)), at in zip(spec.columns.items(), offsets, strict=True)
        if name != SAMPLES
    ]
    # NumPy calls int64 "l" on Linux and "q" elsewhere; "B", "I", "i" are the same everywhere.
    types = "".join(char for char, _ in chosen).replace("l", "q")
    return _core.Columns(memory, spec.capacity, types, tuple(at for _, at in chosen))


def column_offsets(offset: int, spec: RingSpec) -> tuple[int, ...]:
    """Where each column of a ring begins whose slots begin at `offset`."""
    offsets = []
    for dtype, items in spec.columns.values():
        offsets.append(offset)
        offset += align(np.dtype(dtype).itemsize * items * spec.capacity)
    return tuple(offsets)


@dataclass(frozen=True, slots=True)
class Span:
    """A contiguous piece of a ring: slots [start, stop)."""

    start: int
    stop: int


class SlotRing:
    """A single-producer single-consumer ring of slots that are spread over columns.

    One process writes and one reads, each from one thread; either may be here. A program that
    serves many lanes only tries: a writer that finds no room is told so, and its lane is woken when
    the reader moves. A program that has one lane may wait instead, with a deadline.

    Args:
        spec: its shape and the names of its ends.
        core: the counters.
        columns: views of the slots, by name.
        ends: who is at its ends; None for a ring that nobody can wait for.
    """

    def __init__(
        self,
        spec: RingSpec,
        core: _core.Ring,
        columns: dict[str, Column],
        ends: Ends | None = None,
    ) -> None:
        self.spec = spec
        self._core = core
        self._columns = columns
        self._ends = ends
        self._lost = 0 if core.is_closed else core.dropped

    def free(self) -> int:
        """Slots that the writer may fill now."""
        return self._core.free()

    def __len__(self) -> int:
        """Slots that the reader may read now."""
        return self._core.filled()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is put inside the block becomes visible at its end, all at once.

        A reader that could begin on the first part then waits for the whole: ids and the END
        behind them are one piece of work for a model, not two.
        """
        self._core.hold()
        try:
            yield
        finally:
            if not self._core.is_closed:
                self._core.let_go()

    def skip(self) -> None:
        """Forget everything that was not read yet (reader only): where a new reader begins."""
        self._core.skip()

    def wait(self, seconds: float) -> bool:
        """Sleep until there is something to read (reader only), at most so long.

        Returns:
            Whether there is.

        Raises:
            PeerDied: the writer is dead, and everything it wrote was read.
            ValueError: this process is not the reader.
        """
        ends = self._known_ends()
        return ends.wait(ends.reader, ends.writer, lambda: self._core.filled() > 0, seconds)

    def wait_for_room(self, wanted: int, seconds: float) -> bool:
        """Sleep until so many slots may be filled (writer only), at most so long.

        Returns:
            Whether they may.

        Raises:
            PeerDied: the reader is dead.
            ValueError: this process is not the writer, or the ring never has so many slots.
        """
        if wanted > self.spec.capacity:
            raise ValueError(f"{self.spec.name} has {self.spec.capacity} slots, not {wanted}")
        ends = self._known_ends()
        return ends.wait(ends.writer, ends.reader, lambda: self.room(wanted) >= wanted, seconds)

    @property
    def written(self) -> int:
        """How many slots were published, ever; modulo 2^64."""
        return self._core.head

    @property
    def dropped(self) -> int:
        """How many slots were dropped for lack of room, ever."""
        return self._core.dropped

    def check_lost(self) -> None:
        """For a reader that must know whether it saw everything.

        Raises:
            Overrun: something was dropped since this was last asked, or since this ring was
                opened. It is told once; what is in the ring can be read as usual.
        """
        dropped = self._core.dropped
        lost, self._lost = dropped - self._lost & 0xFFFF_FFFF_FFFF_FFFF, dropped
        if lost:
            raise Overrun(self.spec.name, lost)

    def room(self, wanted: int) -> int:
        """Slots the writer may fill now; if fewer than wanted, it is woken when there are more."""
        free = self._core.free()
        return free if free >= wanted else self._core.want()

    def _has_room(self, wanted: int, timeout: float | None) -> bool:
        """Whether there is room for `wanted` slots now, or becomes so within `timeout` seconds.

        Raises:
            RingFull: it does not, and a timeout was given.
            PeerDied: the reader is dead.
        """
        if self.room(wanted) >= wanted:
            return True
        if timeout is None:
            return False
        began = time.monotonic_ns()
        self._await_room(wanted, wanted, began, began + round(timeout * 1e9))
        return True

    def _await_room(self, wanted: int, not_written: int, began: int, end: int) -> None:
        """Wait until `end` for room; errors tell how much was not written since `began` (ns)."""
        left = max(0, end - time.monotonic_ns()) / 1e9
        try:
            if self.wait_for_room(wanted, left):
                return
        except PeerDied as error:
            raise PeerDied(error.ring, error.process, not_written) from None
        waited_s = (time.monotonic_ns() - began) / 1e9
        raise RingFull(self.spec.name, not_written, self.spec.reader, waited_s)

    def _known_ends(self) -> Ends:
        if self._ends is None:
            raise ValueError(f"nobody can wait for {self.spec.name}: it is polled")
        return self._ends

    def _spans(self, slot: int, count: int) -> tuple[Span, ...]:
        """At most two contiguous pieces that begin at an index and wrap at the end."""
        capacity = self.spec.capacity
        if slot + count <= capacity:
            return (Span(slot, slot + count),)
        return Span(slot, capacity), Span(0, slot + count - capacity)

    def __repr__(self) -> str:
        core, spec = self._core, self.spec
        name = f"<{type(self).__name__} {spec.name}"
        if core.is_closed:
            return f"{name}: closed>"
        writer, reader = (
            (self._ends.writer, self._ends.reader) if self._ends else (spec.writer, spec.reader)
        )
        return (
            f"{name}: {writer} -> {reader}, {core.filled()}/{core.capacity}, "
            f"written {core.head}, read {core.tail}, dropped {core.dropped}>"
        )


R = TypeVar("R", bound=SlotRing)


class Batch(Generic[R]):
    """Everything a reader found, as views; given back to the writer when the block ends.

    Whatever happens inside the block, the slots are released, so that one that makes its reader
    fail is not met twice. Views must not be used after it.
    """

    __slots__ = ("_count", "_taken", "ring")

    def __init__(self, ring: R, limit: int | None) -> None:
        filled = ring._core.filled()
        self.ring = ring
        self._count = filled if limit is None else min(limit, filled)
        self._taken = self._count

    def __len__(self) -> int:
        return self._count

    def spans(self) -> Iterator[Span]:
        """The slots of this batch as one or two contiguous pieces."""
        if self._count:
            yield from self.ring._spans(self.ring._core.read_slot, self._count)

    def consume(self, count: int) -> None:
        """Release only the first `count` slots; the rest is read again next time."""
        if not 0 <= count <= self._count:
            raise ValueError(f"cannot consume {count} of {self._count} slots")
        self._taken = count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.ring._core.release(self._taken)
        except Closed:  # closed inside the block: nothing to give back, and no error to hide
            return
