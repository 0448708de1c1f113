"""What a client may change in how turns are taken, in the middle of a conversation."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.config import TurnConfig


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
