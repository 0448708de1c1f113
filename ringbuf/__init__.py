"""Rings of raw token ids and sound in shared memory, between processes that sleep.

layout.py        what an arena looks like: pure arithmetic
arena.py         one nameless shared-memory segment with all lanes
lane.py          one conversation: its rings and its control words
token_ring.py    ids;  audio_ring.py  sound;  event_ring.py  timeline;  command_ring.py  bytes
doorbell.py      how a process sleeps until there is something to do
_core.c          the memory orders that all of it rests on
"""

from ringbuf._core import die_with_parent, lifeline
from ringbuf.arena import Arena, read_layout
from ringbuf.audio_ring import AudioBatch, AudioBlock, AudioRing, Mark
from ringbuf.command_ring import CommandRing
from ringbuf.doorbell import BellPipe, Doorbell
from ringbuf.errors import ArenaFull, LayoutMismatch, MessageTooLong, RingError
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
    "RingError",
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
