"""What a client of `/v1/voice` is told: a class for each type in docs/voice-protocol.md."""

import json
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import SessionError


@dataclass(frozen=True, slots=True)
class Ready:
    """The conversation has begun.

    Attributes:
        session: its name, for logs and support.
        rate: samples per second of sound in both directions.
        lead_ms: how much sound the server sends ahead of its time at most.
        max_message_bytes: the largest message that the server takes.
        session_s: how long this conversation may last; 0: as long as it likes.
    """

    version: int
    session: str
    rate: int
    encoding: str
    lead_ms: int
    max_message_bytes: int
    session_s: float


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """A voice is heard.

    Attributes:
        at_ms: ms of the sound that was sent.
    """

    turn: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The utterance is over.

    Attributes:
        at_ms: ms of the sound that was sent.
    """

    turn: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class UserText:
    """All that was said so far in this turn; replaces the last one.

    Attributes:
        final: the speaker has paused; it is replaced only if the speaker goes on.
    """

    turn: int
    text: str
    final: bool


@dataclass(frozen=True, slots=True)
class ReplyText:
    """All that is written so far of this answer; replaces the last one."""

    turn: int
    answer: int
    text: str


@dataclass(frozen=True, slots=True)
class SoundStarted:
    """Sound of this answer follows."""

    turn: int
    answer: int


@dataclass(frozen=True, slots=True)
class Sound:
    """The next sound of an answer.

    Attributes:
        samples: int16 [n], mono, at the rate of the connection.
    """

    answer: int
    samples: NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Words:
    """The first `samples` samples of an answer voice this beginning of the reply."""

    answer: int
    text: str
    samples: int


@dataclass(frozen=True, slots=True)
class SoundPaused:
    """A voice came over the answer: stop playing, keep what is not played."""

    answer: int


@dataclass(frozen=True, slots=True)
class SoundResumed:
    """It was nothing: go on where you stopped."""

    answer: int


@dataclass(frozen=True, slots=True)
class SoundCut:
    """Interrupted: drop what is not played."""

    answer: int


@dataclass(frozen=True, slots=True)
class SoundEnded:
    """All of the answer was sent.

    Attributes:
        samples: how many, at the rate of the connection.
    """

    answer: int
    samples: int


@dataclass(frozen=True, slots=True)
class SoundDropped:
    """This client read too slowly: `ms` of sound were left out here."""

    answer: int
    ms: int


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over.

    Attributes:
        outcome: answered, interrupted, empty, no speech, failed or timed out.
        heard_text: what was heard of the reply.
        first_audio_ms: from the end of speech to the audible answer; None if there was none.
        phases: ms after the end of speech of each milestone, in order.
    """

    turn: int
    answer: int
    outcome: str
    user_text: str
    reply_text: str
    heard_text: str
    first_audio_ms: float | None
    phases: dict[str, float]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nobody has spoken for long."""

    turn: int


@dataclass(frozen=True, slots=True)
class Closing:
    """The server will close this connection in `in_s` seconds."""

    reason: str
    in_s: float


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something went wrong; the connection stays open.

    Attributes:
        code: a word from the protocol's table.
        turn: the turn that it hit; None if it hit none.
    """

    code: str
    message: str
    turn: int | None = field(default=None)


Event = (
    SpeechStarted
    | SpeechStopped
    | UserText
    | ReplyText
    | SoundStarted
    | Sound
    | Words
    | SoundPaused
    | SoundResumed
    | SoundCut
    | SoundEnded
    | SoundDropped
    | TurnEnded
    | Idle
    | Closing
    | Trouble
)

TYPES: dict[str, type[Any]] = {
    "ready": Ready,
    "speech_started": SpeechStarted,
    "speech_stopped": SpeechStopped,
    "user_text": UserText,
    "reply_text": ReplyText,
    "sound_started": SoundStarted,
    "words": Words,
    "sound_paused": SoundPaused,
    "sound_resumed": SoundResumed,
    "sound_cut": SoundCut,
    "sound_ended": SoundEnded,
    "sound_dropped": SoundDropped,
    "turn_ended": TurnEnded,
    "idle": Idle,
    "closing": Closing,
    "error": Trouble,
}

T = TypeVar("T")


def parse(message: str) -> Ready | Event | None:
    """An event from its text; None if its type is not known here, which is no error.

    Raises:
        SessionError: it is no event of this protocol.
    """
    try:
        keys = json.loads(message)
        kind = TYPES.get(keys["type"])
    except (ValueError, TypeError, KeyError) as error:
        raise SessionError(f"the server sent what is no event: {message[:80]!r}") from error
    return None if kind is None else _build(kind, keys)


def _build(kind: type[T], keys: dict[str, Any]) -> T:
    """An event from its keys; those that are not known here are ignored."""
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    missing = [n for n, f in known.items() if n not in keys and f.default is MISSING]
    if missing:
        names = ", ".join(missing)
        raise SessionError(
            f"the server's {keys['type']} has no {names}", "Use a client of the server's version"
        )
    return kind(**{name: keys[name] for name in known if name in keys})
