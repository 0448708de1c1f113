"""What `voxring doctor` says of one thing that it looked at."""

from dataclasses import dataclass
from enum import Enum

PAGE = "docs/troubleshooting.md"


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
        row: of PAGE, by its anchor; "": it has none.
    """

    what: str
    health: Health
    seen: str
    cause: str = ""
    remedy: str = ""
    row: str = ""

    @property
    def link(self) -> str:
        """Where more is said of it."""
        return f"{PAGE}#{self.row}" if self.row else ""


def judged(what: str, good: bool, seen: str, cause: str, remedy: str, *, row: str = "") -> Finding:
    """A finding that is good, or bad with its cause and remedy."""
    if good:
        return Finding(what, Health.GOOD, seen, row=row)
    return Finding(what, Health.BAD, seen, cause, remedy, row)


def judged_share(
    what: str,
    share: float | None,
    limit: float,
    why_not: str,
    cause: str,
    remedy: str,
    *,
    row: str = "",
) -> Finding:
    """A finding about a share, which is good up to a limit; None: it could not be read."""
    if share is None:
        return Finding(what, Health.UNREAD, why_not, row=row)
    return judged(what, share <= limit, f"{share:.0%}", cause, remedy, row=row)
