"""Who may be heard, and how each turn ends: pure, driven by marks, words and playback."""

from dataclasses import dataclass
from enum import Enum, auto

from ringbuf import Mark
from stages.messages import End, Played, Status, Words
from stages.outcome import Outcome

UINT32 = 0xFFFF_FFFF


class State(Enum):
    """Of the conversation."""

    LISTENING = auto()
    SPEAKING = auto()  # the user speaks
    PREPARING = auto()  # soft end: an answer is being prepared, unheard
    ANSWERING = auto()  # released: the answer is awaited or playing


@dataclass(frozen=True)
class Ending:
    """A turn that has ended."""

    turn: int
    answer: int
    outcome: Outcome


WORDLESS = {Status.EMPTY: Outcome.NO_SPEECH, Status.FAILED: Outcome.FAILED}
SPOKEN = {
    Status.OK: Outcome.ANSWERED,
    Status.EMPTY: Outcome.EMPTY,
    Status.FAILED: Outcome.FAILED,
}


class Turns:
    """The numbers on the control page and the endings of turns.

    Args:
        turn: the last turn's number, uint32.
        answer: the last answer's number, uint32.
        patience_ns: an answer that makes no progress for so long has timed out.

    Attributes:
        released: the answer that may be heard.
        endings: turns that have ended; the caller takes them.
    """

    def __init__(self, turn: int, answer: int, released: int, patience_ns: int) -> None:
        self.turn = turn
        self.answer = answer
        self.released = released
        self.state = State.LISTENING
        self.endings: list[Ending] = []
        self._patience_ns = patience_ns
        self._deadline: int | None = None
        self._wordless: Outcome | None = None
        self._position = 0

    @property
    def deadline(self) -> int | None:
        """When `tick` must be called, monotonic ns; None: not before something happens."""
        return self._deadline

    def mark(self, mark: Mark, now: int) -> None:
        """The speaker did something."""
        match mark:
            case Mark.START:
                self._start()
            case Mark.SOFT_END:
                self.state = State.PREPARING
            case Mark.RESUME:
                self._void_answer()
                self.state = State.SPEAKING
            case Mark.RELEASE:
                self._release(now)

    def words(self, words: Words) -> None:
        """The recogniser's word on a soft end."""
        if (words.turn, words.answer) != (self.turn, self.answer):
            return
        self._wordless = WORDLESS.get(words.status)
        if self._wordless and self.state is State.ANSWERING:
            self._finish(self._wordless)

    def played(self, played: Played, end: End, now: int) -> None:
        """The edge's word on what was heard; `end` is the voice's on the newest answer it ended."""
        if self.state is not State.ANSWERING or played.answer != self.answer:
            return
        if played.final:
            whole = not played.failed and end.answer == played.answer
            self._finish(SPOKEN[end.status] if whole else Outcome.FAILED)
        elif played.position > self._position:
            self._position = played.position
            self._deadline = now + self._patience_ns

    def cancel(self) -> None:
        """Someone asked for silence."""
        if self.state is State.ANSWERING:
            self._stop(Outcome.INTERRUPTED)

    def fail(self) -> None:
        """Something broke: the turn ends, and nothing more of its answer is heard."""
        if self.state is not State.LISTENING:
            self._stop(Outcome.FAILED)

    def abandon(self) -> None:
        """This program has died and is back: the turn that was running is lost."""
        self._stop(Outcome.FAILED)

    def tick(self, now: int) -> None:
        """Time passes: no state is without a way out."""
        if self._deadline is not None and now >= self._deadline:
            self._stop(Outcome.TIMED_OUT)

    def _start(self) -> None:
        if self.state is State.ANSWERING:
            self._finish(Outcome.INTERRUPTED)
        self.turn = self.turn + 1 & UINT32
        self._void_answer()
        self.state = State.SPEAKING

    def _release(self, now: int) -> None:
        self.released = self.answer
        self.state = State.ANSWERING
        self._deadline = now + self._patience_ns
        self._position = 0
        if self._wordless:
            self._finish(self._wordless)

    def _void_answer(self) -> None:
        """Whatever was begun for the old number is stale from here on."""
        self.answer = self.answer + 1 & UINT32
        self._wordless = None

    def _stop(self, outcome: Outcome) -> None:
        ending = Ending(self.turn, self.answer, outcome)
        self._void_answer()
        self._close(ending)

    def _finish(self, outcome: Outcome) -> None:
        self._close(Ending(self.turn, self.answer, outcome))

    def _close(self, ending: Ending) -> None:
        self.endings.append(ending)
        self.state = State.LISTENING
        self._deadline = None
