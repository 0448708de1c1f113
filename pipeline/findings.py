"""What `voxring doctor --llm` says of one thing that it looked at."""

from dataclasses import dataclass
from enum import Enum


class Health(Enum):
    """What a finding says."""

    GOOD = "good"
    BAD = "bad"
    UNREAD = "not read"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: was looked at.
        seen: the figure, with its unit; for one that could not be read, why.
        cause: of a bad one, the likeliest.
        remedy: the switch or command that mends it.
    """

    what: str
    health: Health
    seen: str
    cause: str = ""
    remedy: str = ""


def judged(what: str, good: bool, seen: str, cause: str, remedy: str) -> Finding:
    """A finding that is good, or bad with its cause and remedy."""
    if good:
        return Finding(what, Health.GOOD, seen)
    return Finding(what, Health.BAD, seen, cause, remedy)
