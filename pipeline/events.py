"""What a conversation tells the program that opened it."""

from dataclasses import dataclass, field

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

    Attributes:
        count: ids of the text.
    """

    turn: int
    answer: int
    text: str
    count: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """A voice is heard.

    Attributes:
        at_ms: of the microphone's sound since the conversation was opened.
    """

    turn: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The utterance is over: its turn has been released, or has failed.

    Attributes:
        at_ms: of the microphone's sound since the conversation was opened.
    """

    turn: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Sound:
    """Sound of an answer, to be played now, or a little later (edge "client" only).

    Attributes:
        samples: int16 [n], mono.
        rate: samples per second.
        first: index of its first sample in the answer.
        position: how many ids of the reply are voiced to their end with its last sample; 0 where
            the lane has no lead.
    """

    samples: NDArray[np.int16]
    rate: int
    turn: int = 0
    answer: int = 0
    first: int = 0
    position: int = 0


@dataclass(frozen=True, slots=True)
class SoundPaused:
    """A voice came over the answer: what was told of its sound is to wait (edge "client" only)."""

    answer: int


@dataclass(frozen=True, slots=True)
class SoundResumed:
    """The voice brought no words: the sound goes on where it stopped (edge "client" only)."""

    answer: int


@dataclass(frozen=True, slots=True)
class SoundCut:
    """The answer is stale: what has not been played of it is to be dropped (edge "client" only)."""

    answer: int


@dataclass(frozen=True, slots=True)
class SoundEnded:
    """All sound of an answer was told (edge "client" only).

    Attributes:
        samples: of the whole answer.
    """

    answer: int
    samples: int


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """The user has said something: a turn has begun.

    Attributes:
        at_ms: sound that the microphone had brought before that, ms.
    """

    turn: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """The user's part of a turn is over, whatever comes of it.

    Attributes:
        at_ms: sound that the microphone had brought before the pause that ended it, ms.
    """

    turn: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class AnswerReleased:
    """An answer may be heard from now on."""

    turn: int
    answer: int


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The language model has written all of an answer.

    Attributes:
        count: its ids.
        asked: ids of the conversation before it,
        known: and how many of them had been computed before it was asked for.
        limited: it was cut because it was long enough.
    """

    turn: int
    answer: int
    count: int
    asked: int
    known: int
    limited: bool


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


SoundEvent = Sound | SoundPaused | SoundResumed | SoundCut | SoundEnded
Event = (
    SpeechStarted
    | SpeechStopped
    | TurnBegan
    | TurnClosed
    | AnswerReleased
    | UserText
    | ReplyText
    | ReplyEnded
    | SoundEvent
    | TurnEnded
    | Idle
    | ClipEnded
    | DeviceNotice
    | Fault
)
