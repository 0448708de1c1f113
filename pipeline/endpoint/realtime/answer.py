"""One response: what was told of it so far, and how it ends: pure."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from pipeline.endpoint.realtime.problem import Json
from pipeline.endpoint.realtime.settings import limit, modalities
from pipeline.endpoint.realtime.sound import Encoding, Mouth
from stages.outcome import EXPLANATIONS, Outcome

_STATUS = {
    Outcome.ANSWERED: "completed",
    Outcome.EMPTY: "completed",
    Outcome.NO_SPEECH: "completed",
    Outcome.NOTED: "completed",
    Outcome.INTERRUPTED: "cancelled",
    Outcome.FAILED: "failed",
    Outcome.TIMED_OUT: "failed",
}


@dataclass(frozen=True)
class Wanted:
    """What is asked of one response.

    Attributes:
        most: ids; 0: as many as fit.
    """

    spoken: bool
    output: Encoding
    most: int
    metadata: Json | None = None


@dataclass
class Answer:
    """A response that has been created.

    Attributes:
        number: of the answer in the pipeline.
        item: name of its item, once there is one.
        text: written so far.
        count: ids of that.
        ends_ms, positions: where each stretch of its sound ends, and the ids voiced by then.
        is_said: all of its sound was told.
        is_cancelled: the client asked for its end.
        asked, known: ids before it, and those that had been computed before it was asked for.
        limited: it was cut because it was long enough.
    """

    id: str
    number: int
    wanted: Wanted
    conversation: str
    item: str = ""
    text: str = ""
    count: int = 0
    ends_ms: list[float] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    is_said: bool = False
    is_cancelled: bool = False
    asked: int = 0
    known: int = 0
    limited: bool = False

    def __post_init__(self) -> None:
        self.mouth = Mouth(self.wanted.output)

    @property
    def duration_ms(self) -> float:
        """Of the sound that was told."""
        return self.ends_ms[-1] if self.ends_ms else 0.0

    def told(self, end_ms: float, position: int) -> None:
        """More of its sound was told."""
        self.ends_ms.append(end_ms)
        self.positions.append(max(position, self.positions[-1] if self.positions else 0))

    def voiced(self, ms: float) -> int:
        """How many ids are voiced to their end in the first so many ms."""
        index = bisect_right(self.ends_ms, ms)
        return self.positions[index - 1] if index else 0

    def place(self) -> Json:
        """Where in the response its only content is."""
        return {
            "response_id": self.id,
            "item_id": self.item,
            "output_index": 0,
            "content_index": 0,
        }

    def described(self, output: list[Json], voice: str, *, is_beta: bool) -> Json:
        """As `response.created` shows it."""
        wanted = self.wanted
        shown: dict[str, Any] = {
            "id": self.id,
            "object": "realtime.response",
            "conversation_id": self.conversation,
            "status": "in_progress",
            "status_details": None,
            "output": output,
            "metadata": wanted.metadata,
            "usage": None,
        }
        if is_beta:
            return shown | {
                "modalities": ["audio", "text"] if wanted.spoken else ["text"],
                "max_output_tokens": limit(wanted.most),
                "voice": voice,
            }
        sound = {"format": wanted.output.described(), "voice": voice}
        return shown | {
            "output_modalities": modalities(wanted.spoken),
            "max_output_tokens": limit(wanted.most),
            "audio": {"output": sound},
        }

    def ended(self, outcome: Outcome, fault: str) -> Json:
        """What `response.done` says besides: status, its details and the usage."""
        status = _STATUS[outcome]
        details: Json | None = None
        if status == "cancelled":
            reason = "client_cancelled" if self.is_cancelled else "turn_detected"
            details = {"type": status, "reason": reason}
        elif status == "failed":
            error = {
                "type": "server_error",
                "code": outcome.label.replace(" ", "_"),
                "message": fault or EXPLANATIONS[outcome],
            }
            details = {"type": status, "error": error}
        elif self.limited:
            status = "incomplete"
            details = {"type": status, "reason": "max_output_tokens"}
        return {"status": status, "status_details": details, "usage": self.usage()}

    def usage(self) -> Json:
        """Ids of the language model; sound has none of its own here."""
        cached = {"text_tokens": self.known, "audio_tokens": 0, "image_tokens": 0}
        return {
            "total_tokens": self.asked + self.count,
            "input_tokens": self.asked,
            "output_tokens": self.count,
            "input_token_details": {
                "text_tokens": self.asked,
                "audio_tokens": 0,
                "image_tokens": 0,
                "cached_tokens": self.known,
                "cached_tokens_details": cached,
            },
            "output_token_details": {"text_tokens": self.count, "audio_tokens": 0},
        }
