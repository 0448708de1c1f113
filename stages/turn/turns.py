"""Who may be heard, and how each turn ends: pure, driven by marks, words and playback.

                    START                SOFT_END                 RELEASE
        LISTENING ─────────▶ HEARING ─────────────▶ PREPARING ─────────────▶ RELEASED
            ▲                   ▲  ▲     RESUME         │                     │  │
            │                   │  └────────────────────┘        first sample │  │
            │                   │                                             ▼  │ START
            │   last sample     │                                      SPEAKING  │
            ├───────────────────┼─────────────────────────────────────────┤ ▲    │
            │                   │  words                            START │ │ no │
            │                   └───────────────── INTERRUPTED ◀──────────┴─┼────┘
            │                                            │   words, or time │
            │                                            └──────────────────┘
            └── no words, cancelled, failed, timed out: from any state

Where turns are not answered, RELEASE leads to NOTING, and words, or none, from there to LISTENING.
An answer that is asked for (`respond`) goes from LISTENING to RELEASED at once.

Each state has a way out by time: HEARING by the endpointer's longest turn or sound that stops,
PREPARING by silence, RELEASED, SPEAKING and NOTING by the answer's time-out, INTERRUPTED by
`hold_ns`.
"""

from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto

from ringbuf import Mark
from stages.event import Event
from stages.lane import is_newer
from stages.messages import End, Played, Status, Words
from stages.outcome import Outcome

UINT32 = 0xFFFF_FFFF
CUT_NS = 500_000_000  # within which the edge tells how much of a cut answer was heard
REST_NS = 300_000_000  # behind a voice without words: an echo tears one voice into several
MOST_HOLDS = 3  # of one answer: where noise has held it so often, only words end it


class State(Enum):
    """Of the conversation."""

    LISTENING = auto()  # nobody speaks
    HEARING = auto()  # the user speaks
    PREPARING = auto()  # soft end: an answer is being prepared, unheard
    RELEASED = auto()  # the turn is over: its answer may be heard, and has not begun
    SPEAKING = auto()  # the answer is heard
    INTERRUPTED = auto()  # a voice came over the answer, which waits for what it says
    NOTING = auto()  # the turn is over, and only its words are waited for


ANSWERING = (State.RELEASED, State.SPEAKING, State.INTERRUPTED)


class BargeIn(StrEnum):
    """What ends an answer."""

    WORDS = "words"  # a voice holds it, words end it, anything else lets it go on
    VOICE = "voice"  # any voice
    OFF = "off"  # nothing: nobody is heard while it sounds


@dataclass(frozen=True)
class Manners:
    """How the two take turns.

    Attributes:
        patience_ns: an answer that makes no progress for so long has timed out.
        barge_in: what ends an answer.
        hold_ns: a voice that brings no words for so long no longer holds an answer.
        answers: a turn of the user is answered; else its words are only kept.
    """

    patience_ns: int
    barge_in: BargeIn = BargeIn.WORDS
    hold_ns: int = 3_000_000_000
    answers: bool = True


@dataclass(frozen=True)
class Ending:
    """A turn that has ended.

    Attributes:
        heard: ids of the answer that were heard.
    """

    turn: int
    answer: int
    outcome: Outcome
    heard: int = 0


@dataclass(frozen=True)
class Notice:
    """Something for the timeline that only this machine knows; `at` in monotonic ns."""

    event: Event
    turn: int
    answer: int
    at: int


class Phase(Enum):
    """What a client is told of a turn while it lasts."""

    BEGAN = auto()  # the user has said something
    CLOSED = auto()  # and is done
    RELEASED = auto()  # its answer may be heard


@dataclass(frozen=True)
class Step:
    """A turn has come to another phase."""

    phase: Phase
    turn: int
    answer: int


@dataclass
class _Over:
    """An utterance over an answer. Until it brings words it is no turn.

    Attributes:
        deadline: monotonic ns; behind it nobody waits for its words.
        judged: the recogniser has heard all of it, and no words to act on.
    """

    turn: int
    answer: int
    onset: int
    deadline: int
    soft_ended: bool = False
    released: bool = False
    judged: bool = False


@dataclass
class _Cut:
    """A turn that has ended, but for how much of its answer was heard."""

    ending: Ending
    deadline: int


WORDLESS = {Status.EMPTY: Outcome.NO_SPEECH, Status.FAILED: Outcome.FAILED}
NOT_ANSWERED = (Outcome.NOTED, Outcome.NO_SPEECH)
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
        released: the last answer that was heard, uint32.
        manners: how the two take turns.

    Attributes:
        manners: they may change at any time.
        state: of the conversation.
        hold: nothing is heard for now.
        locked: the answer cannot be interrupted, whatever the manners say.
        wanted: an answer was asked for while the user spoke: it is due once that turn is noted.
        steps: for the client; the caller takes them.
        endings: turns that have ended; the caller takes them.
        notices: for the timeline; the caller takes them.
    """

    def __init__(self, turn: int, answer: int, released: int, manners: Manners) -> None:
        self.turn = turn
        self.answer = answer
        self.released = released
        self.hold = False
        self.locked = False
        self.state = State.LISTENING
        self.endings: list[Ending] = []
        self.notices: list[Notice] = []
        self.steps: list[Step] = []
        self.manners = manners
        self.wanted = False
        self._newest = answer  # of all numbers that were given to an answer
        self._deadline: int | None = None  # of the answer
        self._wordless: Outcome | None = None
        self._is_known = False  # what was said in this turn, all of it
        self._began = False  # the answer was heard
        self._position = 0  # up to here
        self._holds = 0  # of this answer
        self._over: _Over | None = None
        self._cut: _Cut | None = None

    @property
    def deadline(self) -> int | None:
        """When `tick` must be called, monotonic ns; None: not before something happens."""
        over = self._over.deadline if self._over else None
        cut = self._cut.deadline if self._cut else None
        return min((d for d in (self._deadline, over, cut) if d is not None), default=None)

    @property
    def utterance(self) -> tuple[int, int]:
        """Turn and answer of what the user says, uint32 each; over an answer not yet a turn."""
        return (self._over.turn, self._over.answer) if self._over else (self.turn, self.answer)

    @property
    def is_free(self) -> bool:
        """Nobody speaks, and nothing was said over the last answer that may still become a turn."""
        return self.state is State.LISTENING and self._over is None

    @property
    def is_tentative(self) -> bool:
        """A voice that begins now only holds the answer."""
        return self.state in ANSWERING and self.manners.barge_in is BargeIn.WORDS

    @property
    def is_deaf(self) -> bool:
        """Nobody is heard: the answer is not to be interrupted."""
        barred = self.locked or self.manners.barge_in is BargeIn.OFF
        return barred and self.state in ANSWERING

    def start(self, onset: int, now: int) -> None:
        """A voice began, at `onset`."""
        if self.is_tentative:
            self._over = _Over(self._next_turn, self._fresh(), onset, now)
            self._hold(now)
        else:
            self._over = None
            self._interrupt(now)
            self._begin(self._fresh(), onset)

    def speak(self, now: int) -> None:
        """The answer speaks next, once that `is_free`: a turn in which nobody has said anything."""
        self.wanted = False
        self.turn, self.answer = self._next_turn, self._fresh()
        self._answer(now)

    def want(self) -> None:
        """Someone asks for an answer to what was said: `speak` once nobody speaks any more."""
        self.wanted = self.state not in ANSWERING

    def drop(self, now: int) -> None:
        """The user's utterance is to be forgotten, if there is one."""
        if self._over:
            self._let_go(replace(self._over, released=True, judged=True), now)
            self._over = None
        elif self.state in (State.HEARING, State.PREPARING, State.NOTING):
            self._stop(Outcome.NO_SPEECH, now)

    def mark(self, mark: Mark, now: int) -> None:
        """The speaker did something else."""
        match mark:
            case Mark.SOFT_END:
                self._soft_end()
            case Mark.RESUME:
                self._resume(now)
            case Mark.RELEASE:
                self._release(now)

    def words(self, words: Words, now: int) -> None:
        """What the recogniser made of the utterance, so far or of all of it."""
        if (words.turn, words.answer) != self.utterance:
            return
        if self._over:
            self._judge(self._over, words, now)
        elif words.final:
            self._wordless = WORDLESS.get(words.status)
            self._is_known = True
            if self._wordless and self.state in ANSWERING:
                self._finish(self._wordless)
            elif self.state is State.NOTING:
                self._stop(self._wordless or Outcome.NOTED, now)

    def played(self, played: Played, end: End, now: int) -> None:
        """The edge's word on what was heard; `end` is the voice's on the newest answer it ended."""
        self._follow_cut(played)
        if self.state not in ANSWERING or played.answer != self.answer:
            return
        if self.state is State.RELEASED:
            self.state = State.SPEAKING
        if played.position > self._position or not self._began:
            self._began = True
            self._position = played.position
            if self.state is State.SPEAKING:
                self._deadline = now + self.manners.patience_ns
        if played.final:
            whole = not played.failed and end.answer == played.answer
            self._finish(SPOKEN[end.status] if whole else Outcome.FAILED)

    def cancel(self, now: int) -> None:
        """Someone asked for silence."""
        self.wanted = False
        if self.state in ANSWERING:
            self._interrupt(now)
            self._void_answer(now)

    def fail(self, now: int) -> None:
        """Something broke: the turn ends, and nothing more of its answer is heard."""
        self._over = None
        if self.state is not State.LISTENING:
            self._stop(Outcome.FAILED, now)

    def abandon(self, played: Played, now: int) -> None:
        """This program has died and is back: the turn that was running is lost.

        Args:
            played: the edge's word, which tells what was heard of it.
        """
        if played.answer == self.answer:
            self._position = played.position
        self._stop(Outcome.FAILED, now)

    def tick(self, now: int) -> None:
        """Time passes: no state is without a way out."""
        if self._cut and now >= self._cut.deadline:
            self._tell_cut(self._cut.ending)
        if self._over and now >= self._over.deadline:
            self._let_go(self._over, now)
        if self._deadline is not None and now >= self._deadline:
            self._stop(Outcome.TIMED_OUT, now)

    @property
    def _next_turn(self) -> int:
        return self.turn + 1 & UINT32

    def _fresh(self) -> int:
        """A number that no answer had."""
        self._newest = self._newest + 1 & UINT32
        return self._newest

    def _begin(self, answer: int, onset: int) -> None:
        """A turn begins: whatever was done for an older answer is stale from here on."""
        assert is_newer(answer, self.answer), "an older number is stale wherever it arrives"
        self.turn = self._next_turn
        self.answer = answer
        self._wordless, self._is_known = None, False
        self.state = State.HEARING
        self._tell(Phase.BEGAN)
        self.notices.append(Notice(Event.SPEECH_START, self.turn, answer, onset))

    def _soft_end(self) -> None:
        if self._over:
            self._over.soft_ended = True
        else:
            self.state = State.PREPARING

    def _resume(self, now: int) -> None:
        if self._over:
            self._over.answer = self._fresh()
            self._over.soft_ended = self._over.judged = False
            self._hold(now)
        else:
            self._void_answer(now)
            self.state = State.HEARING

    def _release(self, now: int) -> None:
        if self._over:
            self._over.released = True
            self._over.deadline = now + self.manners.hold_ns
            if self._over.judged:
                self._let_go(self._over, now)
            return
        self._tell(Phase.CLOSED)
        if self.manners.answers:
            self._answer(now)
        elif self._is_known:
            self._stop(self._wordless or Outcome.NOTED, now)
        else:
            self.state = State.NOTING
            self._deadline = now + self.manners.patience_ns

    def _answer(self, now: int) -> None:
        """The answer may be heard."""
        self.released = self.answer
        self._tell(Phase.RELEASED)
        self.state = State.RELEASED
        self._deadline = now + self.manners.patience_ns
        self._began, self._position, self._holds = False, 0, 0
        if self._wordless:
            self._finish(self._wordless)

    def _hold(self, now: int) -> None:
        """Silence the answer while it is not known what the voice says."""
        assert self._over
        self._over.deadline = now + self.manners.hold_ns
        if self.state in (State.RELEASED, State.SPEAKING) and self._holds < MOST_HOLDS:
            self._holds += 1
            self.state = State.INTERRUPTED
            self.hold = True
            self._deadline = None
            self._note(Event.HOLD, now)

    def _judge(self, over: _Over, words: Words, now: int) -> None:
        if words.count and not words.backchannel:
            self._take_over(over, now)
        elif words.final:
            over.judged = True
            if over.released:
                self._let_go(over, now)
            else:
                over.deadline = now + REST_NS

    def _take_over(self, over: _Over, now: int) -> None:
        """The utterance over the answer is a turn of its own; the answer ends."""
        self._over = None
        self._interrupt(now)
        self._begin(over.answer, over.onset)
        if over.soft_ended:
            self._soft_end()
        if over.released:
            self._release(now)

    def _let_go(self, over: _Over, now: int) -> None:
        """The voice has brought no words: the answer goes on; words may come nevertheless."""
        over.deadline = now + self.manners.patience_ns
        if over.released and (over.judged or self.state is not State.INTERRUPTED):
            self._over = None
        if self.state is State.INTERRUPTED:
            self.hold = False
            self.state = State.SPEAKING if self._began else State.RELEASED
            self._deadline = now + self.manners.patience_ns
            self._note(Event.GO_ON, now)

    def _interrupt(self, now: int) -> None:
        """End the answer, if there is one; how much of it was heard is known in a moment."""
        if self.state is State.NOTING:
            self._finish(Outcome.NOTED)
        if self.state not in ANSWERING:
            return
        self.wanted = False  # that was the answer
        self._note(Event.INTERRUPT, now)
        ending = Ending(self.turn, self.answer, Outcome.INTERRUPTED, self._position)
        if self._began:
            self._flush_cut()
            self._cut = _Cut(ending, now + CUT_NS)
            self._quiet()
        else:
            self._close(ending)

    def _follow_cut(self, played: Played) -> None:
        """The edge's last word on an answer that was cut."""
        if self._cut is None:
            return
        ending = self._cut.ending
        if played.answer == ending.answer and played.final:
            self._tell_cut(replace(ending, heard=played.position))
        elif is_newer(played.answer, ending.answer):
            self._tell_cut(ending)

    def _flush_cut(self) -> None:
        """Turns end in order."""
        if self._cut:
            self._tell_cut(self._cut.ending)

    def _tell_cut(self, ending: Ending) -> None:
        self._cut = None
        self.endings.append(ending)

    def _void_answer(self, now: int) -> None:
        """Whatever was begun for the old number is stale from here on."""
        if self._over and not self._over.judged:  # its number is the newer one
            self._take_over(self._over, now)
            return
        self.answer = self._fresh()
        self._wordless, self._is_known = None, False
        if self._over:  # a murmur is no turn, unless it goes on
            self._over.answer = self._fresh()

    def _stop(self, outcome: Outcome, now: int) -> None:
        self._finish(outcome)
        self._void_answer(now)

    def _finish(self, outcome: Outcome) -> None:
        self._close(Ending(self.turn, self.answer, outcome, self._position))

    def _close(self, ending: Ending) -> None:
        self._flush_cut()
        self.endings.append(ending)
        self.wanted = self.wanted and ending.outcome in NOT_ANSWERED
        self._quiet()

    def _quiet(self) -> None:
        """There is no answer."""
        self.state = State.LISTENING
        self.hold = False
        self._deadline = None

    def _note(self, event: Event, now: int) -> None:
        self.notices.append(Notice(event, self.turn, self.answer, now))

    def _tell(self, phase: Phase) -> None:
        self.steps.append(Step(phase, self.turn, self.answer))
