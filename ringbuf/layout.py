"""Where everything lies in an arena: pure arithmetic, the same in every process.

    header      magic, version, sizes, then this layout as JSON and the owner's text
    processes   a doorbell for each: asleep, beat, recoveries, life, work bitmap
    events      one lossy event ring for each process
    control     per lane: counters of its rings, and its control words; never given back
    tokens      per lane: slots of the token rings, together so that a GPU can pin them at once
    bulk        per lane: slots of audio and command rings

A lane's share of `tokens` and `bulk` starts on a page and gets memory only while the lane is used.
The sizes of what C reads come from C itself (`_core.LAYOUT`), so the two can never disagree.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from ringbuf import _core

VERSION = 2
PAGE = 65536  # the largest page size of the platforms we run on, so that a layout fits all
HEADER = 64
LINE = _core.LAYOUT["line"]
COUNTERS = _core.LAYOUT["ring"]  # struct ring
BELL = _core.LAYOUT["bell"]  # struct bell, its bitmap follows
ALIGN = 64
LANES = 1 << 20  # at most: what a header says must stay within what an int64 can count
SLOTS = 1 << 28


class RingKind(StrEnum):
    """What the slots of a ring hold."""

    TOKEN = "token"
    AUDIO = "audio"
    EVENT = "event"
    COMMAND = "command"


def columns(kind: RingKind, block: int) -> dict[str, tuple[str, int]]:
    """Name, dtype and items per slot of each column: rings are structures of arrays."""
    match kind:
        case RingKind.TOKEN:
            return {
                "ids": ("<i4", 1),
                "position": ("<u4", 1),
                "turn": ("<u4", 1),
                "answer": ("<u4", 1),
                "kind": ("<u1", 1),
                "stamp": ("<i8", 1),
            }
        case RingKind.AUDIO:
            return {
                "samples": ("<i2", block),
                "first": ("<i8", 1),
                "valid": ("<u4", 1),
                "rate": ("<u4", 1),
                "turn": ("<u4", 1),
                "answer": ("<u4", 1),
                "position": ("<u4", 1),
                "lost": ("<u4", 1),
                "mark": ("<u1", 1),
                "stamp": ("<i8", 1),
            }
        case RingKind.EVENT:
            return {
                "lane": ("<u4", 1),
                "turn": ("<u4", 1),
                "answer": ("<u4", 1),
                "event": ("<u4", 1),
                "at": ("<i8", 1),
                "value": ("<i8", 1),
            }
        case RingKind.COMMAND:
            return {"bytes": ("<u1", 1)}


def built() -> dict[str, Any]:
    """What code and memory must agree on besides a layout, as JSON knows it."""
    dtypes = {
        kind: [[name, dtype] for name, (dtype, _) in columns(kind, 1).items()] for kind in RingKind
    }
    return {"core": dict(_core.LAYOUT), "dtypes": dtypes}


def check_count(what: str, count: int, most: int, *, power: bool = False) -> None:
    """Raise ValueError unless it is a whole number from 1 to `most` (and a power of two)."""
    if type(count) is not int or not 1 <= count <= most or (power and count & (count - 1)):
        kind = "a power of two" if power else "a whole number"
        raise ValueError(f"{what}: expected {kind} up to {most}, not {count!r}")


def check_names(what: str, names: Sequence[str]) -> None:
    """Raise ValueError unless they are distinct names."""
    if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        raise ValueError(f"each {what} needs a name of its own: {', '.join(map(str, names))}")


def align(offset: int, to: int = ALIGN) -> int:
    """The first multiple of `to` that is not below `offset`."""
    return -(-offset // to) * to


@dataclass(frozen=True)
class RingSpec:
    """One ring of every lane.

    Args:
        name: how the lane calls it.
        kind: what its slots hold.
        writer: the process that puts.
        reader: the process that gets; a doorbell of it is rung on every put.
        capacity: slots (bytes for commands), a power of two.
        block: samples of an audio slot, at most.
    """

    name: str
    kind: RingKind
    writer: str
    reader: str
    capacity: int
    block: int = 0

    @cached_property
    def columns(self) -> dict[str, tuple[str, int]]:
        """Name to (dtype, items per slot)."""
        return columns(self.kind, self.block)

    @cached_property
    def size(self) -> int:
        """Bytes of all slots, without the counters."""
        return sum(
            align(np.dtype(dtype).itemsize * items * self.capacity)
            for dtype, items in self.columns.values()
        )


@dataclass(frozen=True)
class WordSpec:
    """One 64-bit control word of every lane: one writer, and the processes it wakes."""

    name: str
    writer: str
    wakes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layout:
    """The shape of an arena; two processes that hold equal layouts agree on every offset.

    Args:
        processes: names; each gets a doorbell and an event ring.
        lanes: how many conversations there may be at once.
        rings: the rings of every lane.
        words: the control words of every lane.
        events: slots of each event ring, a power of two.
        text: bytes kept for the owner's text (its configuration).
    """

    processes: tuple[str, ...]
    lanes: int
    rings: tuple[RingSpec, ...]
    words: tuple[WordSpec, ...]
    events: int = 4096
    text: int = 65536 - HEADER
    version: int = field(default=VERSION)

    def __post_init__(self) -> None:
        check_names("process", self.processes)
        check_names("ring", [ring.name for ring in self.rings])
        check_names("word", [word.name for word in self.words])
        check_count("lanes", self.lanes, LANES)
        check_count("events", self.events, SLOTS, power=True)
        check_count("text", self.text + 1, SLOTS)
        for ring in self.rings:
            check_count(f"the capacity of {ring.name}", ring.capacity, SLOTS, power=True)
            check_count(f"the block of {ring.name}", ring.block + 1, SLOTS)
        named = {end for ring in self.rings for end in (ring.writer, ring.reader)}
        named |= {end for word in self.words for end in (word.writer, *word.wakes)}
        if strangers := named - set(self.processes):
            raise ValueError(f"no such process: {', '.join(map(str, sorted(strangers)))}")

    @cached_property
    def json(self) -> bytes:
        """The layout as it stands in the header, with the dtypes and the offsets of the C core."""
        return json.dumps({**asdict(self), "built": built()}, separators=(",", ":")).encode()

    @staticmethod
    def parse(data: bytes) -> "Layout":
        """The inverse of `json`. Raises ValueError, KeyError or TypeError on anything else."""
        raw: dict[str, Any] = json.loads(data)
        if (other := raw.pop("built")) != built():
            raise ValueError(f"it was built as {other}, we are built as {built()}")
        raw["processes"] = tuple(raw["processes"])
        raw["rings"] = tuple(RingSpec(**{**r, "kind": RingKind(r["kind"])}) for r in raw["rings"])
        raw["words"] = tuple(WordSpec(**{**w, "wakes": tuple(w["wakes"])}) for w in raw["words"])
        return Layout(**raw)

    @cached_property
    def event_ring(self) -> RingSpec:
        """The ring that each process writes its events to; its reader polls it."""
        return RingSpec("events", RingKind.EVENT, "", "", self.events)

    @cached_property
    def processes_at(self) -> int:
        """Offset of the first doorbell."""
        return align(HEADER + len(self.json) + self.text, PAGE)

    @cached_property
    def bell_size(self) -> int:
        """Bytes of one process's doorbell."""
        return align(BELL + 8 * -(-self.lanes // 64), LINE)

    @cached_property
    def events_at(self) -> int:
        """Offset of the first event ring."""
        return align(self.processes_at + len(self.processes) * self.bell_size, PAGE)

    @cached_property
    def event_size(self) -> int:
        """Bytes of one event ring with its counters."""
        return align(COUNTERS + self.event_ring.size, LINE)

    @cached_property
    def control_at(self) -> int:
        """Offset of lane 0's counters and control words."""
        return align(self.events_at + len(self.processes) * self.event_size, PAGE)

    @cached_property
    def control_size(self) -> int:
        """Bytes of one lane's counters and control words."""
        return align(len(self.rings) * COUNTERS + len(self.words) * LINE, LINE)

    @cached_property
    def tokens_at(self) -> int:
        """Offset of lane 0's token slots."""
        return align(self.control_at + self.lanes * self.control_size, PAGE)

    @cached_property
    def tokens_size(self) -> int:
        """Bytes of one lane's token slots."""
        return align(sum(r.size for r in self.rings if r.kind is RingKind.TOKEN), PAGE)

    @cached_property
    def bulk_at(self) -> int:
        """Offset of lane 0's audio and command slots."""
        return self.tokens_at + self.lanes * self.tokens_size

    @cached_property
    def bulk_size(self) -> int:
        """Bytes of one lane's audio and command slots."""
        return align(sum(r.size for r in self.rings if r.kind is not RingKind.TOKEN), PAGE)

    @cached_property
    def size(self) -> int:
        """Bytes of address space for the whole arena."""
        return self.bulk_at + self.lanes * self.bulk_size

    def bell_at(self, process: str) -> int:
        """Offset of a process's doorbell."""
        return self.processes_at + self.processes.index(process) * self.bell_size

    def event_at(self, process: str) -> int:
        """Offset of a process's event ring."""
        return self.events_at + self.processes.index(process) * self.event_size

    def counters_at(self, lane: int, ring: RingSpec) -> int:
        """Offset of the counters of one ring of a lane."""
        return self.control_at + lane * self.control_size + self.rings.index(ring) * COUNTERS

    def words_at(self, lane: int) -> int:
        """Offset of a lane's first control word."""
        return self.control_at + lane * self.control_size + len(self.rings) * COUNTERS

    def slots_at(self, lane: int, ring: RingSpec) -> int:
        """Offset of the first column of one ring of a lane."""
        is_token = ring.kind is RingKind.TOKEN
        offset = self.tokens_at + lane * self.tokens_size
        if not is_token:
            offset = self.bulk_at + lane * self.bulk_size
        for other in self.rings:
            if other == ring:
                return offset
            if (other.kind is RingKind.TOKEN) == is_token:
                offset += other.size
        raise KeyError(ring.name)

    @cached_property
    def lane_size(self) -> int:
        """Bytes that an open lane takes besides its counters and words."""
        return self.tokens_size + self.bulk_size

    def lane_memory(self, lane: int) -> tuple[tuple[int, int], ...]:
        """(offset, bytes) of everything a lane holds only while it is used."""
        ranges = (
            (self.tokens_at + lane * self.tokens_size, self.tokens_size),
            (self.bulk_at + lane * self.bulk_size, self.bulk_size),
        )
        return tuple((offset, size) for offset, size in ranges if size)
