"""The text messages of the binary protocol: what a client may say, and what it is told. Pure."""

import json
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from pipeline.endpoint.outbox import Gap
from pipeline.events import (
    Event,
    Fault,
    Idle,
    ReplyText,
    SoundCut,
    SoundEnded,
    SoundPaused,
    SoundResumed,
    SpeechStarted,
    SpeechStopped,
    TurnEnded,
    UserText,
)
from stages.messages import Command

VERSION = 1
LONGEST_INSTRUCTIONS = 12_000  # bytes, as they go through a ring
COMMANDS = {command.name.lower(): command for command in Command}


class BadMessageError(Exception):
    """A message that is none of this protocol; the text says why, for the client."""


class _Message(BaseModel):
    # Unknown keys are ignored: new ones may come within a version.
    model_config = ConfigDict(frozen=True, strict=True)


class Start(_Message):
    """The first message.

    Attributes:
        rate: of sound in both directions, Hz.
        instructions: the system prompt, if it is not the configured one.
    """

    type: Literal["start"]
    version: Literal[1]
    rate: Literal[8000, 16_000, 24_000, 48_000]
    encoding: Literal["pcm_s16le"] = "pcm_s16le"
    instructions: str | None = None

    @field_validator("instructions")
    @classmethod
    def _fits(cls, text: str | None) -> str | None:
        length = len(json.dumps(text))
        if length > LONGEST_INSTRUCTIONS:
            raise ValueError(f"{length} bytes, at most {LONGEST_INSTRUCTIONS} may come")
        return text


class Order(_Message):
    """A command without anything to it."""

    type: Literal["commit", "cancel", "mute", "unmute", "lock", "unlock", "open"]

    @property
    def command(self) -> Command:
        """As the pipeline knows it."""
        return COMMANDS[self.type]


class PlayedReport(_Message):
    """What has left the client's loudspeaker.

    Attributes:
        samples: of this answer, at the client's rate.
        final: no more of it will.
    """

    type: Literal["played"]
    answer: int = Field(ge=0, lt=2**32)
    samples: int = Field(ge=0, lt=2**48)
    final: bool = False


Message = Start | Order | PlayedReport
_MESSAGE: TypeAdapter[Message] = TypeAdapter(
    Annotated[Start | Order | PlayedReport, Field(discriminator="type")]
)


def parse(text: str) -> Message:
    """Read a client's text message.

    Raises:
        BadMessageError: it is none.
    """
    try:
        return _MESSAGE.validate_json(text)
    except ValidationError as error:
        finding = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in finding["loc"])
        raise BadMessageError(f"{where}: {finding['msg']}" if where else finding["msg"]) from None


def event_json(event: Event) -> str | None:
    """What a client is told of an event; None: nothing, or it is told otherwise."""
    match event:
        case SpeechStarted(turn, at_ms):
            return pack("speech_started", turn=turn, at_ms=at_ms)
        case SpeechStopped(turn, at_ms):
            return pack("speech_stopped", turn=turn, at_ms=at_ms)
        case UserText(turn, text, final):
            return pack("user_text", turn=turn, text=text, final=final)
        case ReplyText(turn, answer, text):
            return pack("reply_text", turn=turn, answer=answer, text=text)
        case SoundPaused(answer):
            return pack("sound_paused", answer=answer)
        case SoundResumed(answer):
            return pack("sound_resumed", answer=answer)
        case SoundCut(answer):
            return pack("sound_cut", answer=answer)
        case SoundEnded(answer, samples):
            return pack("sound_ended", answer=answer, samples=samples)
        case TurnEnded():
            return _turn_ended(event)
        case Idle(turn):
            return pack("idle", turn=turn)
        case Fault(turn, message):
            return pack("error", code="stage", message=message, turn=turn)
        case _:
            return None


def pack(type: str, **values: Any) -> str:
    """A text message."""
    return json.dumps({"type": type, **values}, ensure_ascii=False, separators=(",", ":"))


def _turn_ended(event: TurnEnded) -> str:
    timeline = event.timeline
    first = timeline.first_audio_ms
    return pack(
        "turn_ended",
        turn=timeline.turn,
        answer=timeline.answer,
        outcome=timeline.outcome.label,
        user_text=event.transcript,
        reply_text=event.reply,
        heard_text=event.heard,
        first_audio_ms=None if first is None else round(first, 1),
        phases={name: round(ms, 1) for name, ms in timeline.phases.items()},
    )


class VoiceWording:
    """How the server's own news are told in this protocol."""

    def gap(self, gap: Gap) -> str:
        """Sound was left out."""
        return pack("sound_dropped", answer=gap.answer, ms=round(gap.ms))

    def closing(self, reason: str, in_s: float) -> str:
        """The connection will be closed."""
        return pack("closing", reason=reason, in_s=in_s)

    def error(self, code: str, message: str) -> str:
        """Something went wrong."""
        return pack("error", code=code, message=message)
