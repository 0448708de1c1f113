"""What stays on the screen of a conversation: pure."""

from dataclasses import dataclass

from stages.outcome import EXPLANATIONS, Outcome

CUT = "…"  # stands for what was not heard any more


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn that has ended, or that was running when the conversation did.

    Attributes:
        user: what the user said; "" where nobody spoke (a greeting).
        answer: what was heard of the answer.
        outcome: how it ended; None: it had not ended.
        latency: from the end of speech to the first sound, "" if nothing was heard; and
        phases: what came in between.
    """

    turn: int
    user: str
    answer: str
    outcome: Outcome | None
    latency: str = ""
    phases: str = ""

    @property
    def remark(self) -> str:
        """What must be said of how it ended; "" where nothing must."""
        if self.outcome is None:
            return "the conversation ended here"
        if self.outcome is Outcome.ANSWERED:
            return "" if self.answer else "nothing of the answer could be spoken"
        if self.outcome is Outcome.INTERRUPTED:
            return "interrupted" if self.answer else "interrupted before it was heard"
        return EXPLANATIONS[self.outcome]

    @property
    def is_cut(self) -> bool:
        """More of the answer was to come."""
        return bool(self.answer) and self.outcome is not Outcome.ANSWERED


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened beside what was said."""

    text: str
    is_trouble: bool = False


Entry = Exchange | Note
