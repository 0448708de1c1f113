"""How much of an answer was heard: what the next turn may remember of it."""

from stages.messages import Played

PATIENCE_NS = 100_000_000  # the edge tells the final position within its own step; this is plenty


def heard_ids(answer: int, count: int, played: Played, waited: int) -> int | None:
    """Ids of an answer that were heard, of which the user has begun a new turn.

    Args:
        answer: its number.
        count: how many ids it has.
        played: the edge's last word on it; one on another answer if it never sounded.
        waited: ns since the new turn's first words came.

    Returns:
        None: not known yet, and worth waiting for.
    """
    if count == 0 or played.answer != answer:
        return 0
    if not played.final and waited < PATIENCE_NS:
        return None
    return min(played.position, count)
