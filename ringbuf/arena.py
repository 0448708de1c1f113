"""One shared-memory segment that holds every ring of a pipeline."""

import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from ringbuf import _core, memory
from ringbuf.audio_ring import AudioRing
from ringbuf.command_ring import CommandRing
from ringbuf.doorbell import BellPipe, Doorbell
from ringbuf.ends import Ends, Peer
from ringbuf.errors import ArenaFull, Closed, LayoutMismatch
from ringbuf.event_ring import EventRing
from ringbuf.lane import AnyRing, Lane
from ringbuf.layout import COUNTERS, HEADER, VERSION, Layout, RingKind, RingSpec
from ringbuf.ring import map_columns, map_slots
from ringbuf.token_ring import TokenRing

MAGIC = b"VOXRING\0"
HEAD = struct.Struct("<8sIIIIQ")  # magic, version, layout bytes, text capacity, text bytes, size
LAYOUT_BYTES = 1 << 20  # at most
NO_PIPE = BellPipe(-1, -1)
RINGS: dict[RingKind, type[TokenRing] | type[AudioRing]] = {
    RingKind.TOKEN: TokenRing,
    RingKind.AUDIO: AudioRing,
}


class Arena:
    """All lanes of a pipeline, mapped into this process.

    A lane, a ring and a bell is one object for each process, and each is used from one thread.

    Args:
        fd: descriptor of the shared memory; the arena closes it.
        layout: its shape.
        me: which of `layout.processes` this is; "" for one that only looks.
        bells: the doorbell pipes, by process; the read end of ours, the write ends of all.
    """

    def __init__(self, fd: int, layout: Layout, me: str, bells: Mapping[str, BellPipe]) -> None:
        self.fd = fd
        self.layout = layout
        self.me = me
        access = mmap.ACCESS_WRITE if me else mmap.ACCESS_READ
        self._map = mmap.mmap(fd, layout.size, access=access)
        self._memory = memoryview(self._map)
        self._lanes: dict[int, Lane] = {}
        self._events: dict[str, EventRing] = {}
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
        if len(layout.json) > LAYOUT_BYTES:
            raise ValueError(f"a layout of {len(layout.json)} bytes; at most {LAYOUT_BYTES}")
        fd = memory.create(layout.size)
        memory.seal(fd)
        head = HEAD.pack(
            MAGIC, VERSION, len(layout.json), layout.text, len(text), layout.size
        ).ljust(HEADER, b"\0")
        os.pwrite(fd, head + layout.json + text, 0)
        return cls(fd, layout, me, bells)

    @classmethod
    def attach(cls, fd: int, me: str, bells: Mapping[str, BellPipe]) -> Self:
        """Map an arena that another process made; after an error the descriptor is still open.

        Raises:
            LayoutMismatch: it is no arena, or one of another version or shape.
            ValueError: it has no process `me`.
        """
        layout = read_layout(fd)
        if me not in layout.processes:
            raise ValueError(f"this arena has {', '.join(layout.processes)}, no process {me!r}")
        return cls(fd, layout, me, bells)

    @classmethod
    def look(cls, fd: int) -> Self:
        """Map an arena only to look at it: nothing can be written, nobody can be woken.

        Raises:
            LayoutMismatch: it is no arena, or one of another version or shape.
        """
        layout = read_layout(fd)
        return cls(fd, layout, "", dict.fromkeys(layout.processes, NO_PIPE))

    @property
    def text(self) -> bytes:
        """What the owner wrote into the header."""
        self._check_open()
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
        """One lane, seen from this process; always the same object.

        Raises:
            IndexError: there is no such lane.
            Closed: the arena is closed.
        """
        self._check_open()
        if number not in self._lanes:
            self._lanes[number] = self._make_lane(number)
        return self._lanes[number]

    def events(self, process: str) -> EventRing:
        """The event ring that `process` writes and the pipeline's owner reads."""
        self._check_open()
        if process not in self._events:
            spec, at = self.layout.event_ring, self.layout.event_at(process)
            core = _core.Ring(self._memory, at, spec.capacity, 0)
            columns = map_columns(self._memory, at + COUNTERS, spec)
            self._events[process] = EventRing(spec, core, columns)
        return self._events[process]

    def claim(self, lane: int) -> None:
        """Get memory for a lane.

        Raises:
            ArenaFull: the system has no more; nothing was taken.
            Closed: the arena is closed.
        """
        self._check_open()
        ranges = self.layout.lane_memory(lane)
        needs, left = self.layout.lane_size, memory.left()
        if left is not None and needs > left:
            raise ArenaFull(lane, needs, left)
        try:
            for offset, size in ranges:
                memory.allocate(self.fd, offset, size)
        except OSError as error:
            self.give_back(lane)
            raise ArenaFull(lane, needs, left, str(error.strerror)) from error

    def give_back(self, lane: int) -> None:
        """Return a lane's memory: nobody may be reading or writing it."""
        self._check_open()
        for offset, size in self.layout.lane_memory(lane):
            memory.give_back(self._map, offset, size)

    def is_claimed(self, lane: int) -> bool:
        """Whether a lane has memory."""
        self._check_open()
        return any(memory.is_allocated(self.fd, *range) for range in self.layout.lane_memory(lane))

    def mark_dead(self, process: str, lanes: Iterable[int] = ()) -> None:
        """Tell everyone that a process is dead (supervisor only, after it was reaped).

        Who waits for it is woken at once and gets PeerDied. Everyone is woken, asleep or not,
        because the dead process may have taken somebody's `asleep` word and died before it wrote
        the byte.

        Args:
            process: who died.
            lanes: those that were open: every process looks at them again, since a work bit that
                was to be set may be missing.
        """
        bell = self._bells[process]
        bell.life |= 1
        self._wake_all(lanes)

    def mark_alive(self, process: str, lanes: Iterable[int] = ()) -> None:
        """Tell everyone that a process is there again (supervisor only, before it is started).

        Who waited for it since before its death still gets PeerDied.
        """
        bell = self._bells[process]
        bell.life += bell.life % 2
        self._wake_all(lanes)

    def _wake_all(self, lanes: Iterable[int]) -> None:
        numbers = list(lanes)
        for bell in self._bells.values():
            for number in numbers:
                bell.ring(number)
            bell.nudge()

    def close(self) -> None:
        """Close the descriptor; any later use of a lane, ring or bell raises Closed.

        The mapping goes with the last view of it, never under one. Safe to call twice.
        """
        if self.fd < 0:
            return
        os.close(self.fd)
        self.fd = -1
        for lane in self._lanes.values():
            lane.close()
        for ring in self._events.values():
            ring._core.close()
        for bell in self._bells.values():
            bell.close()
        self._lanes.clear()
        self._events.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.fd < 0:
            return f"<Arena of {self.me}: closed>"
        claimed = sum(self.is_claimed(lane) for lane in range(self.layout.lanes))
        who = self.me or "nobody (looks only)"
        return (
            f"<Arena of {who}: {', '.join(self.layout.processes)}; {claimed} of "
            f"{self.layout.lanes} lanes hold memory, {self.layout.lane_size / 2**20:.2f} MiB each>"
        )

    def _check_open(self) -> None:
        if self.fd < 0:
            raise Closed("its arena is closed")

    def _make_lane(self, number: int) -> Lane:
        layout = self.layout
        if not 0 <= number < layout.lanes:
            raise IndexError(f"lane {number} of {layout.lanes}")
        rings = {spec.name: self._ring(number, spec) for spec in layout.rings}
        words = _core.Words(self._memory, layout.words_at(number), len(layout.words))
        return Lane(number, layout.words, words, rings, self._bells)

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
        writer, reader = (Peer(name, self._bells.get(name)) for name in (spec.writer, spec.reader))
        ends = Ends(spec.name, self.me, writer, reader)
        if spec.kind is RingKind.COMMAND:
            return CommandRing(spec, core, views, ends)
        return RINGS[spec.kind](spec, core, views, map_slots(self._memory, at, spec), ends)


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
    if layout_bytes > LAYOUT_BYTES:
        raise LayoutMismatch(f"a layout of {layout_bytes} bytes", f"at most {LAYOUT_BYTES}")
    try:
        layout = Layout.parse(os.pread(fd, layout_bytes, HEADER))
        computed = layout.size
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise LayoutMismatch(f"a header that does not parse ({error})", "a layout") from error
    if not computed == stated == size:
        raise LayoutMismatch(
            f"{size} bytes of memory and {stated} in the header", f"{computed} by its own layout"
        )
    return layout
