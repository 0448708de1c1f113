"""One conversation inside `turn`: microphone in, speech with marks out."""

import logging
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from pipeline.config import TurnConfig
from pipeline.errors import AudioError
from ringbuf import AudioBlock, Mark
from stages.event import Event
from stages.lane import Lane
from stages.messages import CaptionKind, Command, CommandAt, Words
from stages.stage import Session
from stages.topology import INPUT_BLOCK, INPUT_RATE
from stages.turn import turns as taking
from stages.turn.endpointer import WINDOW_MS, Endpointer, Phase
from stages.turn.settings import TurnSettings, manners, pre_roll_windows, rules
from stages.turn.speculation import Speculation
from stages.turn.speech import Speech
from stages.turn.turns import Ending, State, Turns

MARK_EVENTS = {
    Mark.PAUSE: Event.SILENCE,
    Mark.SOFT_END: Event.SOFT_END,
    Mark.RESUME: Event.RESUME,
    Mark.RELEASE: Event.RELEASE,
}
PHASE_CAPTIONS = {
    taking.Phase.BEGAN: CaptionKind.BEGAN,
    taking.Phase.CLOSED: CaptionKind.CLOSED,
    taking.Phase.RELEASED: CaptionKind.RELEASED,
}
Window = NDArray[np.int16]
Steps = Generator[Window, float, None]
"""Work that gives a window, int16 [512], wherever it needs the probability of speech in it."""
Judge = Callable[[Window], "Future[float]"]
"""Gives the probability that an utterance, int16 [n] at 16 kHz, is complete; returns at once."""
ECHO_NS = 250_000_000  # in which a room is silent again
JUDGED_MS = 8000  # the end of an utterance, which a judge gets at most

log = logging.getLogger(__name__)


class Detector(Protocol):
    """Voice activity of one conversation; it may keep state."""

    def probability(self, window: Window) -> float:
        """Of speech in the next 32 ms; int16 [512] at 16 kHz."""


class TurnSession(Session):
    """Decides who speaks on one lane.

    Args:
        lane: the lane.
        detector: voice activity, this conversation's own.
        config: thresholds and limits.
        now: the clock, monotonic ns.
        judge: of whether an utterance is complete; None: silence alone decides.
        speculation: of all lanes; None: answers are always prepared early.
        cancels_echo: what the microphone hears of an answer is taken out, and with it some of a
            voice that begins over it.
    """

    def __init__(
        self,
        lane: Lane,
        detector: Detector,
        config: TurnConfig,
        now: Callable[[], int],
        judge: Judge | None = None,
        speculation: Speculation | None = None,
        *,
        cancels_echo: bool = False,
    ) -> None:
        super().__init__(lane)
        self.config = config
        self.now = now
        self.detector = detector
        self.endpointer = Endpointer(rules(config))
        self.turns = Turns(lane.turn, lane.answer, lane.released, manners(config))
        self._judge = judge
        self._speculation = speculation
        self._cancels_echo = cancels_echo
        self._judged_at = -(-config.end_after_ms // WINDOW_MS)
        self._opinion: Future[float] | None = None
        self._probability: float | None = None  # that the words before this pause are complete
        self._asks = False  # they are a question
        self._speech = Speech(lane.speech)
        self._recent: deque[Window] = deque(maxlen=pre_roll_windows(config))
        self._said: deque[Window] = deque(maxlen=JUDGED_MS // WINDOW_MS)  # of this utterance
        self._pending = np.empty(0, np.int16)  # less than a window
        self._heard = 0  # index of the sample behind the last one of the microphone
        self._commands: deque[CommandAt] = deque()  # for sound that has not come yet
        self._muted = False
        self._manual = False  # all sound is the utterance, until it is committed
        self._onset = 0  # index of the first sample of the utterance's voice
        self._deaf_until = 0  # monotonic ns
        self._last_sound = self._last_speech = now()
        self._is_idle = False
        self._knows_place = not lane.is_reopened  # in the microphone's sound, by `_heard`
        self._greets = False  # as soon as somebody listens
        self._faults = lane.faults
        if not lane.is_reopened:
            lane.ended = lane.turn
            self._greets = bool(config.greeting)
        elif lane.ended != lane.turn:
            self.turns.abandon(lane.played, now())
            self._publish()

    def _greet(self) -> None:
        """Let the answer speak first, unless somebody was quicker."""
        self._greets = False
        if self.turns.is_free:
            self._speak(Mark.GREET)

    def _speak(self, mark: Mark) -> None:
        """Let the answer speak next, though nobody has spoken."""
        self.turns.speak(self.now())
        self._publish()
        self._put(np.empty(0, np.int16), self.turns.utterance, mark)

    def _respond(self) -> None:
        """An answer was asked for: it comes once nobody speaks."""
        if self.turns.wanted and self.turns.is_free:
            self._speak(Mark.ASK)

    def step(self) -> None:
        """Hear, then tell everyone who speaks."""
        steps = self.steps()
        try:
            window = next(steps)
            while True:
                window = steps.send(self.detector.probability(window))
        except StopIteration:
            return

    def steps(self) -> Steps:
        """The same, up to each window whose probability is needed: it is to be sent in.

        So that windows of several conversations can be judged in one call.
        """
        self._follow_faults()
        self._speech.flush()
        if self._greets and self.lane.is_attended:
            self._greet()
        for message in self.lane.words.read():
            self._words(Words.unpack(message))
        self._follow_playback()  # what was played to its end is, whoever speaks now
        yield from self._hear()
        self._watch_the_clock()
        self._follow_playback()  # what has just been released may be given up already
        self._publish()
        self._respond()
        self._set_due()

    def fail(self, error: Exception) -> None:
        """The turn is lost with its answer; another one begins after a pause."""
        self._lose_turn()
        self.due = 0 if len(self.lane.mic) else None

    def _follow_faults(self) -> None:
        """A stage has died, and with it whatever it was doing for this turn."""
        if self.lane.faults != self._faults:
            self._faults = self.lane.faults
            self._lose_turn()

    def _lose_turn(self) -> None:
        was_open = self.endpointer.is_open
        self._forget_pause()
        numbers = self.turns.utterance
        self.endpointer.end()
        self._account(Mark.RELEASE)
        self.turns.fail(self.now())
        self._publish()
        self._pending = np.empty(0, np.int16)
        if was_open:
            self._put(self._pending, numbers, Mark.RELEASE)
            self._tell_voice(CaptionKind.SPEECH_STOPPED, numbers[0])

    def _follow_playback(self) -> None:
        # In this order: an end is told before a final that rests on it.
        played = self.lane.played
        self.turns.played(played, self.lane.voice_end, self.now())

    def _hear(self) -> Steps:
        """Take what the microphone brought, as long as `speech` has room."""
        with self.lane.mic.read() as batch:
            # Behind the sound: whatever was asked before any of it is then known.
            self._commands.extend(map(CommandAt.unpack, self.lane.commands.read()))
            self._find_place()
            self._obey()
            batch.consume(0)
            for count, block in enumerate(batch, 1):
                if not self._speech.flush():
                    return
                batch.consume(count)  # counted first: one that raises must not come again
                yield from self._block(block)

    def _find_place(self) -> None:
        """A program that has begun anew and hears nothing is where the commands are."""
        if self._commands and not self._knows_place and not len(self.lane.mic):
            self._heard = max(self._heard, *(order.sample for order in self._commands))
            self._knows_place = True

    def _obey(self) -> None:
        """Do what applies to the sound from here on."""
        while self._commands and self._commands[0].sample <= self._heard:
            self._command(self._commands.popleft())

    def _command(self, order: CommandAt) -> None:
        match order.command:
            case Command.COMMIT:
                self.endpointer.is_held_open = False
                self._end(sound_stopped=self._manual)
            case Command.OPEN:
                self.endpointer.is_held_open = True
            case Command.CANCEL:
                self.turns.cancel(self.now())
            case Command.MUTE | Command.UNMUTE:
                self._muted = order.command is Command.MUTE
                self.endpointer.is_held_open = False
            case Command.LOCK | Command.UNLOCK:
                self.turns.locked = order.command is Command.LOCK
            case Command.RESPOND:
                self.turns.want()
                self._respond()
            case Command.CLEAR:
                self._clear()
            case Command.SETTLE:
                self._settle(order.payload)

    def _clear(self) -> None:
        """Forget what was said since the last turn, as if it had not been."""
        is_open, numbers = self.endpointer.is_open, self.turns.utterance
        self.endpointer.end(sound_stopped=True)
        self._account(Mark.RELEASE)
        self._forget_pause()
        self._recent.clear()
        self._pending = np.empty(0, np.int16)
        if is_open or self.turns.state is State.NOTING:
            self.turns.drop(self.now())
            self._publish()
            self._put(self._pending, numbers, Mark.DROP)

    def _settle(self, payload: bytes) -> None:
        """Take turns in another way from here on."""
        try:
            settings = TurnSettings.model_validate_json(payload)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            text = f"turn: settings cannot be read: {payload[:80]!r} ({reason})"
            self.lane.caption(CaptionKind.ERROR, text=text)
            return
        self.config = settings.applied(self.config)
        answers = self.turns.manners.answers if settings.answers is None else settings.answers
        self.turns.manners = manners(self.config, answers=answers)
        self.endpointer.rules = rules(self.config)
        self._recent = deque(self._recent, maxlen=pre_roll_windows(self.config))
        if settings.manual is not None and settings.manual != self._manual:
            self._clear()
            self._manual = settings.manual

    def _block(self, block: AudioBlock) -> Steps:
        if block.rate != INPUT_RATE:
            raise AudioError(f"mic brings {block.rate} Hz, expected {INPUT_RATE} Hz")
        self._last_sound = self.now()
        self._knows_place = True
        if block.first > self._heard:
            self._skip_to(block)
        samples = block.samples
        while len(samples):
            count = len(samples)
            if self._commands:
                count = min(count, self._commands[0].sample - self._heard)
            yield from self._sound(samples[:count], block.stamp)
            self._obey()
            samples = samples[count:]

    def _skip_to(self, block: AudioBlock) -> None:
        """Sound is missing before this block: what came before and what follows do not join."""
        if block.lost:
            log.warning(
                "lane %d: %d samples of the microphone were lost", self.lane.number, block.lost
            )
        self._flush()
        self._recent.clear()
        self._heard = block.first
        self._obey()

    def _flush(self) -> None:
        """What is too little to be judged: pass it on if it is of an utterance, or drop it."""
        samples, self._pending = self._pending, np.empty(0, np.int16)
        if self.endpointer.is_open and len(samples):
            self._put(samples, self.turns.utterance)

    def _sound(self, samples: Window, at: int) -> Steps:
        """Hear at most a window, int16 [n]."""
        self._heard += len(samples)
        heard = np.zeros_like(samples) if self._muted else samples
        self._pending = np.concatenate((self._pending, heard))
        if len(self._pending) >= INPUT_BLOCK:
            window, self._pending = self._pending[:INPUT_BLOCK], self._pending[INPUT_BLOCK:]
            yield from self._window(window, at)

    def _window(self, window: Window, at: int) -> Steps:
        """One step of 32 ms; `at` is when its last sample arrived."""
        before = self.endpointer.phase
        probability = yield window
        if self._manual:
            probability = 1.0
        self._follow_opinion()
        is_affordable = self._speculation is None or self._speculation.is_affordable(self.now())
        early = is_affordable and self.turns.manners.answers
        is_faint = self._cancels_echo and self.turns.is_tentative
        heard = 0.0 if self._is_deaf() else probability
        marks = self.endpointer.window(heard, early=early, is_faint=is_faint)
        if Mark.START in marks:
            self._start(window, at)
        elif before is Phase.QUIET:
            self._recent.append(window)
        elif before is not Phase.SPENT:
            self._go_on(window, marks, at)

    def _is_deaf(self) -> bool:
        """Whether nobody is heard: the answer is not to be interrupted, not by its echo either."""
        now = self.now()
        if self.turns.is_deaf:
            self._deaf_until = now + ECHO_NS
        return now < self._deaf_until

    def _go_on(self, window: Window, marks: tuple[Mark, ...], at: int) -> None:
        """The utterance goes on, or ends with this window."""
        self._said.append(window)
        self._put(window, self.turns.utterance)
        self._marks(marks, at)
        self._ask()

    def _ask(self) -> None:
        """Have the pause judged, once, when it has become long enough for that."""
        silence = self.endpointer.silence_windows
        if silence == 0:
            self._forget_pause()
        elif self._judge and self.endpointer.is_open and silence == self._judged_at:
            self._opinion = self._judge(np.concatenate(self._said))

    def _forget_pause(self) -> None:
        """A voice is heard: what was known of the pause before it no longer counts."""
        self._opinion = self._probability = None
        self._asks = False

    def _follow_opinion(self) -> None:
        """What came of it; one that comes too late changes nothing."""
        if self._opinion is None or not self._opinion.done():
            return
        opinion, self._opinion = self._opinion, None  # first: one that failed must not come again
        try:
            probability = opinion.result()
        except Exception:
            log.exception("lane %d: the end-of-turn model has failed", self.lane.number)
            return
        self._probability = probability
        self._conclude()
        self._emit(Event.END_OF_TURN, self.now(), value=round(probability * 1000))

    def _words(self, words: Words) -> None:
        """What the recogniser made of the utterance."""
        if words.final and (words.turn, words.answer) == self.turns.utterance:
            self._asks = words.question
            self._conclude()
        self.turns.words(words, self.now())

    def _conclude(self) -> None:
        """Whether it is complete, as far as that is known from the voice and the words."""
        probability = self._probability
        if probability is None:
            return
        if probability < self.config.pause_threshold:
            self.endpointer.is_complete = False
        elif probability >= self.config.sure_threshold:
            is_enough = self._asks or not self.config.early_questions_only
            self.endpointer.is_complete = True if is_enough else None

    def _start(self, window: Window, at: int) -> None:
        """A voice: its sound begins with what was kept from before the decision."""
        voiced = self.endpointer.onset_windows * INPUT_BLOCK
        self._onset = max(0, self._heard - len(self._pending) - voiced)
        self.turns.start(at - self.endpointer.onset_windows * WINDOW_MS * 1_000_000, self.now())
        self._publish()
        self._forget_pause()
        sound = (*self._recent, window)
        self._said.clear()
        self._said.extend(sound)
        for index, part in enumerate(sound):
            behind = (len(sound) - 1 - index) * INPUT_BLOCK
            mark = Mark.NONE if index else Mark.START
            self._put(part, self.turns.utterance, mark, behind)
        self._recent.clear()
        self._tell_voice(CaptionKind.SPEECH_STARTED, self.turns.turn, sum(map(len, sound)))

    def _tell_voice(self, kind: CaptionKind, turn: int, behind: int = 0) -> None:
        """Tell whoever follows the conversation where in the sound a voice begins or ends."""
        samples = max(0, self._heard - len(self._pending) - behind)
        self.lane.caption(kind, turn=turn, position=samples * 1000 // INPUT_RATE)

    def _end(self, *, sound_stopped: bool = False) -> None:
        """End the utterance now, if there is one."""
        if self.endpointer.is_open:
            self._flush()
        self._marks(self.endpointer.end(sound_stopped=sound_stopped), self.now())

    def _marks(self, marks: tuple[Mark, ...], at: int) -> None:
        for mark in marks:
            numbers = self.turns.utterance
            self.turns.mark(mark, self.now())
            if mark is Mark.RESUME:
                numbers = self.turns.utterance  # a new answer will be to more words
            self._account(mark)
            turn, answer = numbers
            self.lane.emit(MARK_EVENTS[mark], turn=turn, answer=answer, at=at)
            if mark is Mark.RELEASE:
                self._tell_voice(CaptionKind.SPEECH_STOPPED, turn)
            self._publish()
            self._put(np.empty(0, np.int16), numbers, mark)

    def _account(self, mark: Mark) -> None:
        """Tell what this lane does for an answer that may never be heard."""
        if self._speculation is None:
            return
        if mark is Mark.SOFT_END:
            self._speculation.began(self.lane.number, self.now())
        elif mark is not Mark.PAUSE:
            self._speculation.ended(self.lane.number, self.now())

    def close(self) -> None:
        """Nothing is prepared any more."""
        self._account(Mark.RELEASE)

    def _put(
        self, samples: Window, numbers: tuple[int, int], mark: Mark = Mark.NONE, behind: int = 0
    ) -> None:
        """Write sound that was followed by `behind` samples and those that are pending."""
        end = self._heard - len(self._pending) - behind
        turn, answer = numbers
        first = end - len(samples)
        self._speech.put(samples, first=first, turn=turn, answer=answer, mark=mark)

    def _watch_the_clock(self) -> None:
        """Limits that hold even when no sound arrives."""
        now = self.now()
        if len(self.lane.mic):  # sound that waits for room has not stopped
            self._last_sound = now
        if self.endpointer.is_open and now >= self._silence_limit:
            self._end(sound_stopped=True)
        self.turns.tick(now)

    def _set_due(self) -> None:
        """When to look again, whatever this step has begun."""
        dues = [self.turns.deadline, self._watch_idle(self.now())]
        if self.endpointer.is_open:
            dues.append(self._silence_limit)
        self.due = min((due for due in dues if due is not None), default=None)

    @property
    def _silence_limit(self) -> int:
        """When sound that has stopped ends the utterance, monotonic ns."""
        # Whoever commits by hand may pause as long as a turn may last.
        timeout_s = self.config.max_turn_s if self._manual else self.config.input_timeout_s
        return self._last_sound + int(timeout_s * 1e9)

    def _watch_idle(self, now: int) -> int | None:
        """Tell once that nobody has said anything for long; when to look again."""
        if self.turns.state is not State.LISTENING or self.endpointer.is_open:
            self._last_speech, self._is_idle = now, False
        if not self.config.idle_s or self._is_idle:
            return None
        limit = self._last_speech + int(self.config.idle_s * 1e9)
        if now < limit:
            return limit
        self._is_idle = True
        self._emit(Event.IDLE, now)
        self.lane.caption(CaptionKind.IDLE, turn=self.turns.turn)
        return None

    def _publish(self) -> None:
        """Store the words that changed, and tell of turns that ended."""
        lane, turns = self.lane, self.turns
        for step in turns.steps:  # first: who hears an answer has been told of it
            self._tell_step(step)
        turns.steps.clear()
        for word in ("turn", "answer", "released", "hold"):  # a stale answer is never let go
            value = getattr(turns, word)
            if getattr(lane, word) != value:
                setattr(lane, word, value)
        for notice in turns.notices:
            lane.emit(notice.event, turn=notice.turn, answer=notice.answer, at=notice.at)
        turns.notices.clear()
        for ending in turns.endings:
            self._tell(ending)
        turns.endings.clear()

    def _tell_step(self, step: taking.Step) -> None:
        silence = self.endpointer.silence_windows * INPUT_BLOCK
        sample = {
            CaptionKind.BEGAN: self._onset,
            CaptionKind.CLOSED: self._heard - len(self._pending) - silence,
        }
        kind = PHASE_CAPTIONS[step.phase]
        ms = max(0, sample.get(kind, 0)) * 1000 // INPUT_RATE
        self.lane.caption(kind, turn=step.turn, answer=step.answer, position=ms)

    def _tell(self, ending: Ending) -> None:
        lane, turn, answer, outcome = self.lane, ending.turn, ending.answer, ending.outcome
        lane.ended = turn
        lane.emit(Event.OUTCOME, turn=turn, answer=answer, value=outcome, at=self.now())
        lane.caption(
            CaptionKind.OUTCOME,
            turn=turn,
            answer=answer,
            position=outcome,
            ids=np.array([ending.heard], np.int32),
        )

    def _emit(self, event: Event, at: int, value: int = 0) -> None:
        turn, answer = self.turns.utterance
        self.lane.emit(event, turn=turn, answer=answer, value=value, at=at)
