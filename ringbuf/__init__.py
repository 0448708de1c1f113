"""Rings of raw token ids and sound in shared memory, between processes that sleep.

layout.py        what an arena looks like: pure arithmetic
arena.py         one nameless shared-memory segment with all lanes
lane.py          one conversation: its rings and its control words
token_ring.py    ids;  audio_ring.py  sound;  event_ring.py  timeline;  command_ring.py  bytes
ends.py          who is at the two ends of a ring, and waiting for each other
doorbell.py      how a process sleeps until there is something to do;  bell_watch.py  under asyncio
inspect.py       an arena as text, for people
errors.py        everything that can go wrong
_core.c          the shared words, for Python
_ring.h          the memory orders that all of it rests on: C11, no Python
"""

from ringbuf._core import die_with_parent, lifeline
from ringbuf.arena import Arena, read_layout
from ringbuf.audio_ring import AudioBatch, AudioBlock, AudioRing, Mark
from ringbuf.bell_watch import BellWatch
from ringbuf.command_ring import CommandRing
from ringbuf.doorbell import BellPipe, Doorbell
from ringbuf.errors import (
    ArenaFull,
    Closed,
    LayoutMismatch,
    MessageTooLong,
    NoArena,
    Overrun,
    PeerDied,
    RingError,
    RingFull,
)
from ringbuf.event_ring import EventRecord, EventRing
from ringbuf.lane import Lane
from ringbuf.layout import VERSION, Layout, RingKind, RingSpec, WordSpec
from ringbuf.token_ring import Kind, TokenBatch, TokenRing, TokenRun

__all__ = [
    "VERSION",
    "Arena",
    "ArenaFull",
    "AudioBatch",
    "AudioBlock",
    "AudioRing",
    "BellPipe",
    "BellWatch",
    "Closed",
    "CommandRing",
    "Doorbell",
    "EventRecord",
    "EventRing",
    "Kind",
    "Lane",
    "Layout",
    "LayoutMismatch",
    "Mark",
    "MessageTooLong",
    "NoArena",
    "Overrun",
    "PeerDied",
    "RingError",
    "RingFull",
    "RingKind",
    "RingSpec",
    "TokenBatch",
    "TokenRing",
    "TokenRun",
    "WordSpec",
    "die_with_parent",
    "lifeline",
    "read_layout",
]
