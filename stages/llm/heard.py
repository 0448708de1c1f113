"""How much of an answer was heard: what the next turn may remember of it."""

from stages.messages import Played

PATIENCE_NS = 100_000_000  # the edge tells the final position within its own step; this is plenty


def heard_ids(answer: int, count: int, played: Played, released: int, waited: int) -> int | None:
    """Ids of an answer that were heard, of which the user has begun a new turn.

    Args:
        answer: its number.
        count: how many ids it has.
        played: the edge's word.
        released: the answer that may be heard.
        waited: ns since the new turn's first words came.

    Returns:
        None: not known yet, and worth waiting for.
    """
    if count == 0:
        return 0
    if played.answer == answer and (played.final or waited >= PATIENCE_NS):
        return min(played.position, count)
    if waited < PATIENCE_NS and answer in (played.answer, released):
        return None
    return 0
