"""Who has the floor in a conversation: pure, from its control words."""

from enum import Enum, auto

from stages.messages import Played


class Floor(Enum):
    """Who speaks, or what is waited for."""

    OPEN = auto()  # nobody speaks
    USER = auto()  # the user speaks, or has paused
    THINKING = auto()  # the user's turn is over, its answer has not begun
    ANSWER = auto()  # the answer is heard
    HELD = auto()  # a voice came over the answer, which waits for what it says


def who_has_it(*, running: bool, answer: int, released: int, hold: bool, played: Played) -> Floor:
    """Read the control words.

    Args:
        running: a turn has begun whose end was not told yet.
        answer, released: the answer that counts, and the one that may be heard.
        hold: the answer is silent for now.
        played: the edge's word on what was heard.
    """
    if not running:
        return Floor.OPEN
    if answer != released:
        return Floor.USER
    if hold:
        return Floor.HELD
    sounds = played.answer == answer and not played.final
    return Floor.ANSWER if sounds else Floor.THINKING
