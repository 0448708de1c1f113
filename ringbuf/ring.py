"""What all rings have in common: counters in C, columns in NumPy."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringbuf import _core
from ringbuf.layout import RingSpec, align

Column = NDArray[Any]


def map_columns(memory: memoryview, offset: int, spec: RingSpec) -> dict[str, Column]:
    """NumPy views of a ring's columns.

    Args:
        memory: the whole arena.
        offset: where the ring's slots begin.
        spec: the ring.

    Returns:
        Name to array of shape [capacity] or [capacity, items].
    """
    views: dict[str, Column] = {}
    offsets = column_offsets(offset, spec)
    for (name, (dtype, items)), at in zip(spec.columns.items(), offsets, strict=True):
        column = np.frombuffer(memory, np.dtype(dtype), items * spec.capacity, at)
        views[name] = column.reshape(spec.capacity, items) if items > 1 else column
    return views


def map_slots(memory: memoryview, offset: int, spec: RingSpec) -> _core.Columns:
    """The same memory slot by slot, as plain ints; for rings without blocks."""
    types = "".join(np.dtype(dtype).char for dtype, _ in spec.columns.values())
    # NumPy calls int64 "l" on Linux and "q" elsewhere; "B", "I", "i" are the same everywhere.
    return _core.Columns(
        memory, spec.capacity, types.replace("l", "q"), column_offsets(offset, spec)
    )


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

    One process writes and one reads; either may be here. Nothing blocks: a writer that finds no
    room is told so, and its lane is woken when the reader moves.
    """

    def __init__(self, spec: RingSpec, core: _core.Ring, columns: dict[str, Column]) -> None:
        self.spec = spec
        self._core = core
        self._columns = columns

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
            self._core.let_go()

    def skip(self) -> None:
        """Forget everything that was not read yet (reader only)."""
        self._core.release(self._core.filled())

    @property
    def dropped(self) -> int:
        """How many slots were dropped for lack of room, ever."""
        return self._core.dropped

    def room(self, wanted: int) -> int:
        """Slots the writer may fill now; if fewer than wanted, it is woken when there are more."""
        free = self._core.free()
        return free if free >= wanted else self._core.want()

    def _spans(self, slot: int, count: int) -> tuple[Span, ...]:
        """At most two contiguous pieces that begin at an index and wrap at the end."""
        capacity = self.spec.capacity
        if slot + count <= capacity:
            return (Span(slot, slot + count),)
        return Span(slot, capacity), Span(0, slot + count - capacity)

    def __repr__(self) -> str:
        core = self._core
        return (
            f"<{type(self).__name__} {self.spec.name}: {self.spec.writer} -> {self.spec.reader}, "
            f"{core.filled()}/{core.capacity}, written {core.head}, read {core.tail}, "
            f"dropped {core.dropped}>"
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
        self.ring._core.release(self._taken)
