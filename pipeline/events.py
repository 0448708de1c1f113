"""What a conversation tells the program that opened it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.timeline import Timeline


@dataclass(frozen=True, slots=True)
class UserText:
    """What the user said so far in this turn; a later one replaces it.

    Attributes:
        final: the speaker has paused and these are all the words; not so while they are spoken,
            nor once the speaker goes on.
    """

    turn: int
    text: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class ReplyText:
    """What the language model has written of this answer so far; a later one replaces it.

    Nothing is told of an answer before it may be heard: it may be one that never is.
    """

    turn: int
    answer: int
    text: str


@dataclass(frozen=True, slots=True)
class Sound:
    """Sound of the answer, to be played now (edge "client" only).

    Attributes:
        samples: int16 [n], mono.
        rate: samples per second.
    """

    samples: NDArray[np.int16]
    rate: int


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over.

    Attributes:
        transcript: what the user said.
        reply: what the language model wrote.
        heard: what the user heard of it, to the word; `timeline.outcome` tells why no more.
    """

    timeline: Timeline
    transcript: str
    reply: str
    heard: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Nobody has said anything for as long as `turn.idle_s`; told once in each silence."""

    turn: int


@dataclass(frozen=True, slots=True)
class ClipEnded:
    """A clip was played to its end, or could not be (edge "file" only)."""

    error: str


@dataclass(frozen=True, slots=True)
class DeviceNotice:
    """A sound device has gone, or is back (edge "device" only).

    Attributes:
        message: one line, for people.
        is_open: it is there.
    """

    message: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """A stage reported an error; the turn it hit ends as failed."""

    turn: int
    message: str


Event = UserText | ReplyText | Sound | TurnEnded | Idle | ClipEnded | DeviceNotice | Fault
