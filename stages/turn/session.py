"""One conversation inside `turn`: microphone in, speech with marks out."""

import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.config import TurnConfig
from pipeline.errors import AudioError
from ringbuf import AudioBlock, Mark
from stages.event import Event
from stages.lane import Lane
from stages.messages import CaptionKind, Command, CommandAt, Words
from stages.stage import Session
from stages.topology import INPUT_BLOCK, INPUT_RATE
from stages.turn.endpointer import WINDOW_MS, Endpointer, Phase, Rules
from stages.turn.speech import Speech
from stages.turn.turns import Turns

MARK_EVENTS = {
    Mark.PAUSE: Event.SILENCE,
    Mark.SOFT_END: Event.SOFT_END,
    Mark.RESUME: Event.RESUME,
    Mark.RELEASE: Event.RELEASE,
}
Window = NDArray[np.int16]

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
    """

    def __init__(
        self, lane: Lane, detector: Detector, config: TurnConfig, now: Callable[[], int]
    ) -> None:
        super().__init__(lane)
        self.config = config
        self.now = now
        self.detector = detector
        self.endpointer = Endpointer(
            Rules(
                config.threshold,
                config.min_speech_ms,
                config.soft_end_ms,
                config.release_ms,
                int(config.max_turn_s * 1000),
            )
        )
        self.turns = Turns(
            lane.turn, lane.answer, lane.released, int(config.answer_timeout_s * 1e9)
        )
        onset_windows = -(-config.min_speech_ms // WINDOW_MS)
        self._speech = Speech(lane.speech)
        self._recent: deque[Window] = deque(maxlen=onset_windows + config.pre_roll_ms // WINDOW_MS)
        self._pending = np.empty(0, np.int16)  # less than a window
        self._heard = 0  # index of the sample behind the last one of the microphone
        self._commands: deque[CommandAt] = deque()  # for sound that has not come yet
        self._muted = False
        self._last_sound = now()
        self._faults = lane.faults
        if not lane.is_reopened:
            lane.ended = lane.turn
        elif lane.ended != lane.turn:
            self.turns.abandon()
            self._publish()

    def step(self) -> None:
        """Hear, then tell everyone who speaks."""
        self._follow_faults()
        self._speech.flush()
        for message in self.lane.words.read():
            self.turns.words(Words.unpack(message))
        self._follow_playback()  # what was played to its end is, whoever speaks now
        self._hear()
        self._watch_the_clock()
        self._follow_playback()  # what has just been released may be given up already
        self._publish()

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
        self.endpointer.end()
        self.turns.fail()
        self._publish()
        self._pending = np.empty(0, np.int16)
        if was_open:
            self._put(self._pending, Mark.RELEASE)

    def _follow_playback(self) -> None:
        # In this order: an end is told before a final that rests on it.
        played = self.lane.played
        self.turns.played(played, self.lane.voice_end, self.now())

    def _hear(self) -> None:
        """Take what the microphone brought, as long as `speech` has room."""
        with self.lane.mic.read() as batch:
            # Behind the sound: whatever was asked before any of it is then known.
            self._commands.extend(map(CommandAt.unpack, self.lane.commands.read()))
            self._obey()
            batch.consume(0)
            for count, block in enumerate(batch, 1):
                if not self._speech.flush():
                    return
                batch.consume(count)  # counted first: one that raises must not come again
                self._block(block)

    def _obey(self) -> None:
        """Do what applies to the sound from here on."""
        while self._commands and self._commands[0].sample <= self._heard:
            self._command(self._commands.popleft().command)

    def _command(self, command: Command) -> None:
        match command:
            case Command.COMMIT:
                self._end()
            case Command.CANCEL:
                self.turns.cancel()
            case Command.MUTE:
                self._muted = True
            case Command.UNMUTE:
                self._muted = False

    def _block(self, block: AudioBlock) -> None:
        if block.rate != INPUT_RATE:
            raise AudioError(f"mic brings {block.rate} Hz, expected {INPUT_RATE} Hz")
        self._last_sound = self.now()
        if block.first > self._heard:
            self._skip_to(block)
        samples = block.samples
        while len(samples):
            count = len(samples)
            if self._commands:
                count = min(count, self._commands[0].sample - self._heard)
            self._sound(samples[:count], block.stamp)
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
            self._put(samples)

    def _sound(self, samples: Window, at: int) -> None:
        """Hear at most a window, int16 [n]."""
        self._heard += len(samples)
        heard = np.zeros_like(samples) if self._muted else samples
        self._pending = np.concatenate((self._pending, heard))
        if len(self._pending) >= INPUT_BLOCK:
            window, self._pending = self._pending[:INPUT_BLOCK], self._pending[INPUT_BLOCK:]
            self._window(window, at)

    def _window(self, window: Window, at: int) -> None:
        """One step of 32 ms; `at` is when its last sample arrived."""
        before = self.endpointer.phase
        marks = self.endpointer.window(self.detector.probability(window))
        if Mark.START in marks:
            self._start(window, at)
        elif before is Phase.QUIET:
            self._recent.append(window)
        elif before is not Phase.SPENT:
            self._go_on(window, marks, at)

    def _go_on(self, window: Window, marks: tuple[Mark, ...], at: int) -> None:
        """The utterance goes on, or ends with this window."""
        self._put(window)
        self._marks(marks, at)

    def _start(self, window: Window, at: int) -> None:
        """A new turn: its sound begins with what was kept from before the decision."""
        self.turns.mark(Mark.START, at)
        self._publish()
        sound = (*self._recent, window)
        for index, part in enumerate(sound):
            behind = (len(sound) - 1 - index) * INPUT_BLOCK
            self._put(part, Mark.NONE if index else Mark.START, behind)
        self._recent.clear()
        onset_ns = self.endpointer.onset_windows * WINDOW_MS * 1_000_000
        self._emit(Event.SPEECH_START, at - onset_ns)

    def _end(self, *, sound_stopped: bool = False) -> None:
        """End the utterance now, if there is one."""
        if self.endpointer.is_open:
            self._flush()
        self._marks(self.endpointer.end(sound_stopped=sound_stopped), self.now())

    def _marks(self, marks: tuple[Mark, ...], at: int) -> None:
        for mark in marks:
            self.turns.mark(mark, self.now())
            self._emit(MARK_EVENTS[mark], at)
            self._publish()
            self._put(np.empty(0, np.int16), mark)

    def _put(self, samples: Window, mark: Mark = Mark.NONE, behind: int = 0) -> None:
        """Write sound that was followed by `behind` samples and those that are pending."""
        end = self._heard - len(self._pending) - behind
        self._speech.put(
            samples,
            first=end - len(samples),
            turn=self.turns.turn,
            answer=self.turns.answer,
            mark=mark,
        )

    def _watch_the_clock(self) -> None:
        """Limits that hold even when no sound arrives."""
        now = self.now()
        if len(self.lane.mic):  # sound that waits for room has not stopped
            self._last_sound = now
        silence_limit = self._last_sound + int(self.config.input_timeout_s * 1e9)
        if self.endpointer.is_open and now >= silence_limit:
            self._end(sound_stopped=True)
        self.turns.tick(now)
        dues = [self.turns.deadline]
        if self.endpointer.is_open:
            dues.append(silence_limit)
        self.due = min((due for due in dues if due is not None), default=None)

    def _publish(self) -> None:
        """Store the words that changed, and tell of turns that ended."""
        lane, turns = self.lane, self.turns
        if lane.turn != turns.turn:
            lane.turn = turns.turn
        if lane.answer != turns.answer:
            lane.answer = turns.answer
        if lane.released != turns.released:
            lane.released = turns.released
        for ending in turns.endings:
            lane.ended = ending.turn
            at = self.now()
            lane.emit(
                Event.OUTCOME,
                turn=ending.turn,
                answer=ending.answer,
                value=ending.outcome,
                at=at,
            )
            lane.caption(
                CaptionKind.OUTCOME,
                turn=ending.turn,
                answer=ending.answer,
                position=ending.outcome,
            )
        turns.endings.clear()

    def _emit(self, event: Event, at: int) -> None:
        self.lane.emit(event, turn=self.turns.turn, answer=self.turns.answer, at=at)
