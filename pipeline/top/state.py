"""What a conversation is doing, by its control words: pure."""

from collections.abc import Mapping

from stages.messages import End, Played

LISTENING, HEARING, PREPARING = "listening", "hearing", "preparing"
WAITING, ANSWERING, HELD = "waiting", "answering", "held"

MEANINGS = {
    LISTENING: "nobody speaks",
    HEARING: "the user speaks, or their words are being recognised",
    PREPARING: "an answer is being made that may not be heard yet",
    WAITING: "the answer may be heard, and its sound has not begun",
    ANSWERING: "the answer is being heard",
    HELD: "a voice came over the answer",
}


def state_of(words: Mapping[str, int]) -> str:
    """One of MEANINGS.

    Args:
        words: the lane's control words, by name.
    """
    answer = words["answer"]
    if words["turn"] == words["ended"]:
        return LISTENING
    if words["released"] == answer:
        played = Played.unpack(words["played"])
        if played.answer != answer or not played.position:
            return WAITING
        return HELD if words["hold"] else ANSWERING
    made = (End.unpack(words[name]).answer for name in ("reply_end", "voice_end"))
    return PREPARING if answer in made else HEARING
