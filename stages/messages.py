"""The small messages beside the hot path, as bytes of fixed form."""

import json
import struct
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Any, ClassVar, Self


class Status(IntEnum):
    """How a piece of work ended."""

    OK = 0
    EMPTY = 1
    FAILED = 2


@unique
class Command(IntEnum):
    """What an edge may ask of `turn`."""

    COMMIT = 1  # the turn ends now, whatever the pause
    CANCEL = 2  # stop the answer
    MUTE = 3  # hear nothing
    UNMUTE = 4
    LOCK = 5  # answers are not to be interrupted
    UNLOCK = 6
    OPEN = 7  # push to talk: no silence ends the turn, until COMMIT, MUTE or UNMUTE
    RESPOND = 8  # answer to what was said before, though nobody has spoken
    CLEAR = 9  # forget the utterance that has begun
    SETTLE = 10  # how turns are taken from here on: `payload` is a `TurnSettings` as JSON

    def pack(self) -> bytes:
        """As a program asks it of an edge that is another program, through `orders`."""
        return bytes((self,))

    @classmethod
    def unpack(cls, message: bytes) -> "Command":
        """The inverse of `pack`. Raises ValueError on anything else."""
        (number,) = message
        return cls(number)


@dataclass(frozen=True, slots=True)
class CommandAt:
    """A command and the place in the sound at which it applies: it overtakes nothing said before.

    sample: how many samples the microphone had brought since the lane was opened; below 2^63.
    payload: what there is to say besides.
    """

    command: Command
    sample: int
    payload: bytes = b""

    def pack(self) -> bytes:
        """As it goes through the ring."""
        return _COMMAND.pack(self.command, self.sample) + self.payload

    @classmethod
    def unpack(cls, message: bytes) -> Self:
        """The inverse of `pack`."""
        command, sample = _COMMAND.unpack_from(message)
        return cls(Command(command), sample, message[_COMMAND.size :])


@dataclass(frozen=True, slots=True)
class End:
    """Where an answer ends, in one control word.

    count: ids for `reply_end`, blocks for `voice_end`; below 2^24.
    """

    answer: int
    count: int
    status: Status

    def pack(self) -> int:
        """As a 64-bit word: answer 32, count 24, status 8."""
        return self.answer << 32 | self.count << 8 | self.status

    @classmethod
    def unpack(cls, word: int) -> Self:
        """The inverse of `pack`."""
        return cls(word >> 32, word >> 8 & 0xFF_FFFF, Status(word & 0xFF))


@dataclass(frozen=True, slots=True)
class Played:
    """How much of an answer was heard, in one control word.

    position: how many ids of the reply were voiced to their end; below 2^30.
    final: nothing more of this answer will be heard.
    failed: because the edge gave it up.
    """

    answer: int
    position: int
    final: bool
    failed: bool = False

    def pack(self) -> int:
        """As a 64-bit word: answer 32, position 30, failed 1, final 1."""
        return self.answer << 32 | self.position << 2 | self.failed << 1 | self.final

    @classmethod
    def unpack(cls, word: int) -> Self:
        """The inverse of `pack`."""
        return cls(word >> 32, word >> 2 & 0x3FFF_FFFF, bool(word & 1), bool(word & 2))


@dataclass(frozen=True, slots=True)
class Levels:
    """How loud both sides are, in one control word; the edge "device" sets it 20 times a second.

    microphone, loudspeaker: dBFS of the newest 50 ms, 0 to SILENT, to a hundredth.
    """

    SILENT: ClassVar[float] = -100.0
    _STEPS: ClassVar[int] = 10_000

    microphone: float = SILENT
    loudspeaker: float = SILENT

    def pack(self) -> int:
        """As a 64-bit word: hundredths of a dB above SILENT, 16 bits each."""
        microphone, loudspeaker = map(self._above, (self.microphone, self.loudspeaker))
        return microphone << 16 | loudspeaker

    @classmethod
    def unpack(cls, word: int) -> Self:
        """The inverse of `pack`."""
        return cls(*(((word >> shift & 0xFFFF) - cls._STEPS) / 100 for shift in (16, 0)))

    def _above(self, level: float) -> int:
        return round(min(max(level, self.SILENT), 0.0) * 100) + self._STEPS


@dataclass(frozen=True, slots=True)
class DeviceState:
    """How a sound device does, in one control word; counts are of this conversation.

    is_open: both devices are there and run.
    xruns: times that the machine was too late for the device; below 2^24, then it stays.
    corrections: silences in which drift above 20 ms was taken back; below 2^16, then it stays.
    echo_loss_db: echo return loss enhancement of the canceller, 0 to 102.3; 0 without one.
    latency_ms: from a sample's hand-over until it sounds, below 2^10.
    """

    is_open: bool = False
    xruns: int = 0
    corrections: int = 0
    echo_loss_db: float = 0.0
    latency_ms: int = 0

    def pack(self) -> int:
        """As a 64-bit word: xruns 24, corrections 16, tenths of a dB 10, latency 10, open 1."""
        xruns, corrections = min(self.xruns, 0xFF_FFFF), min(self.corrections, 0xFFFF)
        loss = min(max(round(self.echo_loss_db * 10), 0), 0x3FF)
        latency = min(max(self.latency_ms, 0), 0x3FF)
        return xruns << 37 | corrections << 21 | loss << 11 | latency << 1 | self.is_open

    @classmethod
    def unpack(cls, word: int) -> Self:
        """The inverse of `pack`."""
        counts = word >> 37 & 0xFF_FFFF, word >> 21 & 0xFFFF
        return cls(bool(word & 1), *counts, (word >> 11 & 0x3FF) / 10, word >> 1 & 0x3FF)


@dataclass(frozen=True, slots=True)
class Words:
    """What `asr` tells `turn` of an utterance.

    final: of all of it, at its soft end; else of what was said so far over an answer.
    backchannel: the words only say that someone listens ("uh-huh").
    question: they end as a question.
    """

    turn: int
    answer: int
    count: int
    status: Status
    final: bool = True
    backchannel: bool = False
    question: bool = False

    def pack(self) -> bytes:
        """As it goes through the ring."""
        flags = (self.final, self.backchannel, self.question)
        return _WORDS.pack(self.turn, self.answer, self.count, self.status, *flags)

    @classmethod
    def unpack(cls, message: bytes) -> Self:
        """The inverse of `pack`."""
        turn, answer, count, status, *flags = _WORDS.unpack(message)
        return cls(turn, answer, count, Status(status), *flags)


@unique
class CaptionKind(IntEnum):
    """What a caption tells the client."""

    HEARD = 1  # payload: int32 ids of the user's words from `position` on; revises what follows
    HEARD_ALL = 2  # the user may be done: the words are the first `position` ids
    REPLY = 3  # payload: int32 ids of the answer from `position` on
    OUTCOME = 4  # position: an Outcome; payload: int32, how many ids of the answer were heard
    ERROR = 5  # payload: text
    CLIP = 6  # the clip has been played to its end, or payload says why not
    IDLE = 7  # nobody has said anything for long
    DEVICE = 8  # a sound device; position: it is there (1) or gone (0); payload: text
    SPEECH_STARTED = 9  # a voice is heard; position: ms of the microphone's sound
    SPEECH_STOPPED = 10  # the utterance is over; position: as before
    BEGAN = 11  # a turn of the user; position: ms of the microphone's sound before its voice
    CLOSED = 12  # the user's part of it is over; position: ms of sound before that
    RELEASED = 13  # the answer may be heard
    REPLY_ALL = 14  # the answer is `position` ids; payload: int32, ids before it, how many of them
    # were computed before it was asked for, and whether it was cut because it was too long
    REOPENED = 15  # this stage has begun anew: what was asked of it before is forgotten


@dataclass(frozen=True, slots=True)
class Caption:
    """Something a client may want to show.

    HEADER: bytes before the payload.
    """

    HEADER: ClassVar[int] = struct.calcsize("<BIII")

    kind: CaptionKind
    turn: int = 0
    answer: int = 0
    position: int = 0
    payload: bytes = b""

    def pack(self) -> bytes:
        """As it goes through the ring."""
        return _CAPTION.pack(self.kind, self.turn, self.answer, self.position) + self.payload

    @classmethod
    def unpack(cls, message: bytes) -> Self:
        """The inverse of `pack`."""
        kind, turn, answer, position = _CAPTION.unpack_from(message)
        return cls(CaptionKind(kind), turn, answer, position, message[_CAPTION.size :])


@dataclass(frozen=True, slots=True)
class PlayOrder:
    """What a client asks of the file edge: play a clip, keep the answer.

    Args:
        clip: path of a sound file.
        speech_end_s: where speech ends in it, s; None if there is none.
        out: path of the WAV file for the answer; "" for none.
    """

    clip: str
    speech_end_s: float | None = None
    out: str = ""

    @staticmethod
    def is_one(message: bytes) -> bool:
        """Whether this is an order to play; `orders` carries commands too, of one byte."""
        return len(message) > 1

    def pack(self) -> bytes:
        """As it goes through the ring."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()

    @classmethod
    def unpack(cls, message: bytes) -> Self:
        """The inverse of `pack`."""
        fields: dict[str, Any] = json.loads(message)
        return cls(**fields)


_COMMAND = struct.Struct("<Bq")
_WORDS = struct.Struct("<IIIB???")
_CAPTION = struct.Struct("<BIII")
