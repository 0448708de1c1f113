"""One shared-memory segment that holds every ring of a pipeline."""

import mmap
import os
import struct
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from ringbuf import _core, memory
from ringbuf.audio_ring import AudioRing
from ringbuf.command_ring import CommandRing
from ringbuf.doorbell import BellPipe, Doorbell
from ringbuf.errors import ArenaFull, LayoutMismatch
from ringbuf.event_ring import EventRing
from ringbuf.lane import AnyRing, Lane
from ringbuf.layout import COUNTERS, HEADER, VERSION, Layout, RingKind, RingSpec
from ringbuf.ring import map_columns, map_slots
from ringbuf.token_ring import TokenRing

MAGIC = b"VOXRING\0"
HEAD = struct.Struct("<8sIIIIQ")  # magic, version, layout bytes, text capacity, text bytes, size
RINGS: dict[RingKind, type[AudioRing] | type[CommandRing]] = {
    RingKind.AUDIO: AudioRing,
    RingKind.COMMAND: CommandRing,
}


class Arena:
    """All lanes of a pipeline, mapped into this process.

    Args:
        fd: descriptor of the shared memory; the arena closes it.
        layout: its shape.
        me: which of `layout.processes` this is.
        bells: the doorbell pipes, by process; the read end of ours, the write ends of all.
    """

    def __init__(self, fd: int, layout: Layout, me: str, bells: Mapping[str, BellPipe]) -> None:
        self.fd = fd
        self.layout = layout
        self.me = me
        self._map = mmap.mmap(fd, layout.size)
        self._memory = memoryview(self._map)
        self._bells = {
            name: Doorbell(
                self._memory,
                layout.bell_at(name),
                layout.lanes,
                pipe.read_fd if name == me else -1,
                pipe.write_fd,
            )
            for name, pipe in bells.items()
        }

    @classmethod
    def create(
        cls, layout: Layout, me: str, bells: Mapping[str, BellPipe], text: bytes = b""
    ) -> Self:
        """Make a new arena, every counter at zero.

        Raises:
            ValueError: `text` is longer than the layout keeps room for.
        """
        if len(text) > layout.text:
            raise ValueError(f"{len(text)} bytes of text; the layout keeps {layout.text}")
        fd = memory.create(layout.size)
        head = HEAD.pack(
            MAGIC, VERSION, len(layout.json), layout.text, len(text), layout.size
        ).ljust(HEADER, b"\0")
        os.pwrite(fd, head + layout.json + text, 0)
        return cls(fd, layout, me, bells)

    @classmethod
    def attach(cls, fd: int, me: str, bells: Mapping[str, BellPipe]) -> Self:
        """Map an arena that another process made.

        Raises:
            LayoutMismatch: it is no arena, or one of another version or shape.
        """
        return cls(fd, read_layout(fd), me, bells)

    @property
    def text(self) -> bytes:
        """What the owner wrote into the header."""
        _, _, layout_bytes, _, text_bytes, _ = HEAD.unpack_from(self._memory)
        start = HEADER + layout_bytes
        return bytes(self._memory[start : start + text_bytes])

    @property
    def bell(self) -> Doorbell:
        """The doorbell of this process."""
        return self._bells[self.me]

    def bell_of(self, process: str) -> Doorbell:
        """The doorbell of another process."""
        return self._bells[process]

    def lane(self, number: int) -> Lane:
        """One lane, seen from this process."""
        layout = self.layout
        rings = {spec.name: self._ring(number, spec) for spec in layout.rings}
        words = _core.Words(self._memory, layout.words_at(number), len(layout.words))
        return Lane(number, layout.words, words, rings, self._bells)

    def events(self, process: str) -> EventRing:
        """The event ring that `process` writes and the pipeline's owner reads."""
        spec, at = self.layout.event_ring, self.layout.event_at(process)
        core = _core.Ring(self._memory, at, spec.capacity, 0)
        return EventRing(spec, core, map_columns(self._memory, at + COUNTERS, spec))

    def claim(self, lane: int) -> None:
        """Get memory for a lane.

        Raises:
            ArenaFull: the system has no more; nothing was taken.
        """
        ranges = self.layout.lane_memory(lane)
        try:
            for offset, size in ranges:
                memory.allocate(self.fd, offset, size)
        except OSError as error:
            self.give_back(lane)
            raise ArenaFull(lane, sum(size for _, size in ranges), error) from error

    def give_back(self, lane: int) -> None:
        """Return a lane's memory: nobody may be reading or writing it."""
        for offset, size in self.layout.lane_memory(lane):
            memory.give_back(self._map, offset, size)

    def close(self) -> None:
        """Close the descriptor. The mapping goes with the last view of it, never under one."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ends(self, spec: RingSpec) -> tuple[Doorbell | None, Doorbell | None]:
        """Whom to wake on either side; a process need not wake itself."""
        if spec.reader == spec.writer:
            return None, None
        return self._bells.get(spec.reader), self._bells.get(spec.writer)

    def _ring(self, lane: int, spec: RingSpec) -> AnyRing:
        layout = self.layout
        core = _core.Ring(
            self._memory,
            layout.counters_at(lane, spec),
            spec.capacity,
            lane,
            *self._ends(spec),
        )
        at = layout.slots_at(lane, spec)
        views = map_columns(self._memory, at, spec)
        if spec.kind is RingKind.TOKEN:
            return TokenRing(spec, core, views, map_slots(self._memory, at, spec))
        return RINGS[spec.kind](spec, core, views)


def read_layout(fd: int) -> Layout:
    """The layout that stands in an arena's header, checked against its size.

    Raises:
        LayoutMismatch: it is no arena, or one of another version or shape.
    """
    size = os.fstat(fd).st_size
    head = os.pread(fd, HEAD.size, 0)
    if len(head) < HEAD.size or not head.startswith(MAGIC):
        raise LayoutMismatch(f"{size} bytes that begin with {head[:8]!r}", f"{MAGIC!r}")
    _, version, layout_bytes, _, _, stated = HEAD.unpack(head)
    if version != VERSION:
        raise LayoutMismatch(f"layout version {version}", f"version {VERSION}")
    try:
        layout = Layout.parse(os.pread(fd, layout_bytes, HEADER))
        computed = layout.size
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise LayoutMismatch(f"a header that does not parse ({error!r})", "a layout") from error
    if not computed == stated == size:
        raise LayoutMismatch(
            f"{size} bytes of memory and {stated} in the header", f"{computed} by its own layout"
        )
    return layout
