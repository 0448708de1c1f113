"""One conversation inside `turn`: microphone in, speech with marks out."""

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
from stages.messages import CaptionKind, Command, Status, Words
from stages.stage import Session
from stages.topology import INPUT_BLOCK, INPUT_RATE
from stages.turn.endpointer import WINDOW_MS, Endpointer, Phase, Rules
from stages.turn.turns import Turns

MARK_EVENTS = {
    Mark.SOFT_END: Event.SOFT_END,
    Mark.RESUME: Event.RESUME,
    Mark.RELEASE: Event.RELEASE,
}
SPARE_BLOCKS = 4  # of `speech`, so that a window and its marks always fit
Window = NDArray[np.int16]


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
        self._recent: deque[Window] = deque(maxlen=onset_windows + config.pre_roll_ms // WINDOW_MS)
        self._pending = np.empty(0, np.int16)  # less than a window
        self._windows = 0  # seen since the lane opened
        self._muted = False
        self._last_sound = now()
        self._faults = lane.faults
        if lane.is_reopened and lane.ended != lane.turn:
            self.turns.abandon()
            self._publish()

    def step(self) -> None:
        """Hear, then tell everyone who speaks."""
        self._follow_faults()
        for message in self.lane.commands.read():
            self._command(Command(message[0]))
        for message in self.lane.words.read():
            self.turns.words(Words.unpack(message))
        self._hear()
        self._watch_the_clock()
        self.turns.played(self.lane.played, self.lane.voice_end.status, self.now())
        self._publish()

    def fail(self, error: Exception) -> None:
        """End the turn as far as it goes."""
        self._marks(self.endpointer.end(), self.now())
        self.turns.words(Words(self.turns.turn, self.turns.answer, 0, Status.FAILED))
        self._publish()

    def _follow_faults(self) -> None:
        """A stage has died: the running turn ends; what the user goes on to say is a new one."""
        if self.lane.faults != self._faults:
            self._faults = self.lane.faults
            self.turns.fail()
            self.endpointer.forget()

    def _command(self, command: Command) -> None:
        match command:
            case Command.COMMIT:
                self._marks(self.endpointer.end(), self.now())
            case Command.CANCEL:
                self.turns.cancel()
            case Command.MUTE:
                self._muted = True
            case Command.UNMUTE:
                self._muted = False

    def _hear(self) -> None:
        """Take what the microphone brought, as far as `speech` has room for it."""
        spare = (self._recent.maxlen or 0) + SPARE_BLOCKS
        room = self.lane.speech.room(spare + 1) - spare
        with self.lane.mic.read(max(0, room)) as batch:
            for block in batch:
                self._block(block)

    def _block(self, block: AudioBlock) -> None:
        if block.rate != INPUT_RATE:
            raise AudioError(f"mic brings {block.rate} Hz, expected {INPUT_RATE} Hz")
        self._last_sound = self.now()
        samples = np.zeros_like(block.samples) if self._muted else block.samples
        self._pending = np.concatenate((self._pending, samples))
        while len(self._pending) >= INPUT_BLOCK:
            window, self._pending = self._pending[:INPUT_BLOCK], self._pending[INPUT_BLOCK:]
            self._window(window, block.stamp)

    def _window(self, window: Window, at: int) -> None:
        """One step of 32 ms; `at` is when its last sample arrived."""
        was_quiet = self.endpointer.phase is Phase.QUIET
        marks = self.endpointer.window(self.detector.probability(window))
        self._windows += 1
        if Mark.START in marks:
            self._start(window, at)
            return
        if was_quiet:
            self._recent.append(window)
            return
        if self.endpointer.silence_windows == 1 and self.endpointer.phase is Phase.SPEAKING:
            self._emit(Event.SILENCE, at)
        self._put(window, self._windows - 1)
        self._marks(marks, at)

    def _start(self, window: Window, at: int) -> None:
        """A new turn: its sound begins with what was kept from before the decision."""
        self.turns.mark(Mark.START, at)
        self._publish()
        first = self._windows - 1 - len(self._recent)
        for index, earlier in enumerate((*self._recent, window)):
            self._put(earlier, first + index, Mark.NONE if index else Mark.START)
        self._recent.clear()
        onset_ns = self.endpointer.onset_windows * WINDOW_MS * 1_000_000
        self._emit(Event.SPEECH_START, at - onset_ns)

    def _marks(self, marks: tuple[Mark, ...], at: int) -> None:
        for mark in marks:
            self.turns.mark(mark, self.now())
            self._emit(MARK_EVENTS[mark], at)
            self._publish()
            self._put(np.empty(0, np.int16), self._windows, mark)

    def _put(self, samples: Window, window: int, mark: Mark = Mark.NONE) -> None:
        self.lane.speech.put(
            samples,
            first=window * INPUT_BLOCK,
            rate=INPUT_RATE,
            turn=self.turns.turn,
            answer=self.turns.answer,
            mark=mark,
        )

    def _watch_the_clock(self) -> None:
        """Limits that hold even when no sound arrives."""
        now = self.now()
        silence_limit = self._last_sound + int(self.config.input_timeout_s * 1e9)
        if self.endpointer.phase is not Phase.QUIET and now >= silence_limit:
            self._marks(self.endpointer.end(), now)
        self.turns.tick(now)
        dues = [self.turns.deadline]
        if self.endpointer.phase is not Phase.QUIET:
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
