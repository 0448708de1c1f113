"""How a turn ended."""

from enum import IntEnum


class Outcome(IntEnum):
    """A value for every way a turn can end; EXPLANATIONS says what each means."""

    ANSWERED = 1
    INTERRUPTED = 2
    EMPTY = 3
    NO_SPEECH = 4
    FAILED = 5
    TIMED_OUT = 6
    NOTED = 7

    @property
    def label(self) -> str:
        """As people and JSON files read it."""
        return self.name.lower().replace("_", " ")


BROKEN = (Outcome.FAILED, Outcome.TIMED_OUT)  # how no turn should end
EXPLANATIONS = {
    Outcome.ANSWERED: "the answer was played to its end",
    Outcome.INTERRUPTED: "the user spoke, or cancelled, before the answer was played to its end",
    Outcome.EMPTY: "the language model had nothing to say",
    Outcome.NO_SPEECH: "nothing that was heard had words in it",
    Outcome.FAILED: "a stage reported an error; what was complete before it may have been played",
    Outcome.NOTED: "nobody asked for an answer: the words are kept",
    Outcome.TIMED_OUT: "no answer came within the time that the configuration allows",
}
