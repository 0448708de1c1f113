"""How a client wants turns to be taken, and what `turn` is told of it: pure."""

from dataclasses import dataclass
from typing import Any, Literal

from pipeline.config import TurnConfig
from pipeline.endpoint.realtime import fields
from pipeline.endpoint.realtime.fields import Object
from stages.turn.settings import TurnSettings

_COMMON = ("type", "create_response", "interrupt_response")
_SERVER = ("threshold", "prefix_padding_ms", "silence_duration_ms", "idle_timeout_ms")
_SEMANTIC = ("eagerness",)
LEAST_THRESHOLD, MOST_THRESHOLD = 0.05, 0.95  # the detector's own never reach 0 and 1
LONGEST_SILENCE_MS = 5_000
# Silence that ends a turn: if what was said is surely complete, if that is not known, if it is not.
# "medium" and "auto" are what is configured.
_EAGER = {"high": (224, 600, 2_000), "low": (640, 2_000, 8_000)}


@dataclass(frozen=True)
class TurnDetection:
    """`turn_detection` of a session; its names are the protocol's."""

    type: Literal["server_vad", "semantic_vad", "none"] = "semantic_vad"
    create_response: bool = True
    interrupt_response: bool = True
    threshold: float = 0.5
    prefix_padding_ms: int = 300
    silence_duration_ms: int = 500
    eagerness: str = "auto"

    @property
    def is_manual(self) -> bool:
        """The client commits."""
        return self.type == "none"

    def described(self) -> dict[str, Any] | None:
        """As a session shows it."""
        if self.type == "none":
            return None
        shown: dict[str, Any] = {"type": self.type}
        if self.type == "server_vad":
            shown |= {
                "threshold": self.threshold,
                "prefix_padding_ms": self.prefix_padding_ms,
                "silence_duration_ms": self.silence_duration_ms,
                "idle_timeout_ms": None,
            }
        else:
            shown["eagerness"] = self.eagerness
        return shown | {
            "create_response": self.create_response,
            "interrupt_response": self.interrupt_response,
        }

    def settings(self, config: TurnConfig) -> TurnSettings:
        """What `turn` is told.

        Args:
            config: for what the protocol does not say.
        """
        if self.type == "none":
            return TurnSettings(manual=True, answers=False)
        silence = {
            "early_release_ms": config.early_release_ms,
            "release_ms": config.release_ms,
            "late_release_ms": config.late_release_ms,
            "early_questions_only": config.early_questions_only,
        }
        threshold, pre_roll_ms = config.threshold, config.pre_roll_ms
        if self.type == "server_vad":
            keys = ("early_release_ms", "release_ms", "late_release_ms")
            silence |= dict.fromkeys(keys, max(32, self.silence_duration_ms))
            threshold, pre_roll_ms = self.threshold, self.prefix_padding_ms
        elif self.eagerness in _EAGER:
            early, usual, late = _EAGER[self.eagerness]
            silence = {
                "early_release_ms": early,
                "release_ms": usual,
                "late_release_ms": late,
                "early_questions_only": self.eagerness == "low",
            }
        return TurnSettings.model_validate(
            {
                **silence,
                "threshold": threshold,
                "pre_roll_ms": pre_roll_ms,
                "barge_in": config.barge_in if self.interrupt_response else "off",
                "answers": self.create_response,
                "manual": False,
            }
        )


def parse(value: Object | None, prefix: str) -> TurnDetection:
    """What a client asks for; None: it commits by itself.

    Raises:
        RefusedError: it cannot be.
    """
    if value is None:
        return TurnDetection("none", create_response=False, interrupt_response=False)
    kind = fields.choice(value, "type", prefix, ("server_vad", "semantic_vad"))
    creates = fields.switch(value, "create_response", prefix, True)
    interrupts = fields.switch(value, "interrupt_response", prefix, True)
    if kind == "semantic_vad":
        fields.only(value, (*_COMMON, *_SEMANTIC, *_SERVER), prefix)
        known = ("low", "medium", "high", "auto")
        eager = "auto"
        if value.get("eagerness") is not None:
            eager = fields.choice(value, "eagerness", prefix, known)
        return TurnDetection("semantic_vad", creates, interrupts, eagerness=eager)
    fields.only(value, (*_COMMON, *_SERVER, *_SEMANTIC), prefix)
    threshold = fields.number(value, "threshold", prefix, 0, 1, 0.5)
    return TurnDetection(
        "server_vad",
        creates,
        interrupts,
        min(max(threshold, LEAST_THRESHOLD), MOST_THRESHOLD),
        fields.whole(value, "prefix_padding_ms", prefix, 0, 1000, 300),
        fields.whole(value, "silence_duration_ms", prefix, 0, LONGEST_SILENCE_MS, 500),
    )
