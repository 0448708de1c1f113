"""How turns are taken: what is configured, and what a client may change in the middle."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.config import TurnConfig
from stages.turn.endpointer import WINDOW_MS, Rules
from stages.turn.turns import BargeIn, Manners


class TurnSettings(BaseModel):
    """A key that is None stays as it was; see `TurnConfig` for those that are there too.

    Attributes:
        answers: a turn of the user is answered; else its words are only kept.
        manual: no voice is looked for: all sound is the utterance, until it is committed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    threshold: float | None = Field(None, gt=0, lt=1)
    pre_roll_ms: int | None = Field(None, ge=0, le=1000)
    release_ms: int | None = Field(None, ge=32, le=10_000)
    early_release_ms: int | None = Field(None, ge=32, le=10_000)
    early_questions_only: bool | None = None
    late_release_ms: int | None = Field(None, ge=32, le=10_000)
    barge_in: Literal["words", "voice", "off"] | None = None
    answers: bool | None = None
    manual: bool | None = None

    def pack(self) -> bytes:
        """As the payload of a command."""
        return self.model_dump_json(exclude_none=True).encode()

    def applied(self, config: TurnConfig) -> TurnConfig:
        """The configuration with these changes."""
        changes = self.model_dump(exclude_none=True, exclude={"answers", "manual"})
        return config.model_copy(update=changes)


def rules(config: TurnConfig) -> Rules:
    """When an utterance begins, pauses and ends."""
    return Rules(
        config.threshold,
        config.min_speech_ms,
        config.soft_end_ms,
        config.release_ms,
        int(config.max_turn_s * 1000),
        config.early_release_ms,
        config.late_release_ms,
    )


def manners(config: TurnConfig, *, answers: bool = True) -> Manners:
    """How the two take turns."""
    hold_ns = config.hold_ms * 1_000_000
    patience_ns = int(config.answer_timeout_s * 1e9)
    return Manners(patience_ns, BargeIn(config.barge_in), hold_ns, answers)


def pre_roll_windows(config: TurnConfig) -> int:
    """How much sound is kept from before it is known that somebody speaks."""
    return -(-config.min_speech_ms // WINDOW_MS) + config.pre_roll_ms // WINDOW_MS
