"""What a conversation is doing, by its control words: pure."""

from collections.abc import Mapping

from pipeline.floor import Floor, who_has_it
from stages.messages import End, Played

LISTENING, HEARING, PREPARING = "listening", "hearing", "preparing"
WAITING, ANSWERING, HELD = "waiting", "answering", "held"

MEANINGS = {
    LISTENING: "nobody speaks",
    HEARING: "the user speaks or has paused; an answer may have been begun",
    PREPARING: "an answer is written to its end that may not be heard yet",
    WAITING: "the answer may be heard, and its sound has not begun",
    ANSWERING: "the answer is being heard",
    HELD: "a voice came over the answer",
}


_BY_FLOOR = {
    Floor.OPEN: LISTENING,
    Floor.USER: HEARING,
    Floor.THINKING: WAITING,
    Floor.ANSWER: ANSWERING,
    Floor.HELD: HELD,
}


def state_of(words: Mapping[str, int]) -> str:
    """One of MEANINGS.

    Args:
        words: the lane's control words, by name.
    """
    answer = words["answer"]
    floor = who_has_it(
        running=words["turn"] != words["ended"],
        answer=answer,
        released=words["released"],
        hold=bool(words["hold"]),
        played=Played.unpack(words["played"]),
    )
    made = (End.unpack(words[name]).answer for name in ("reply_end", "voice_end"))
    return PREPARING if floor is Floor.USER and answer in made else _BY_FLOOR[floor]
