"""Where an utterance begins, pauses and ends: pure, driven by windows of speech probability."""

from dataclasses import dataclass
from enum import Enum, auto

from ringbuf import Mark

WINDOW_MS = 32
FAINT = 0.8  # of the threshold: where a canceller takes the beginning of a voice for echo
HYSTERESIS = 0.15  # Silero's own: a voice is over when its probability is this much lower


@dataclass(frozen=True)
class Rules:
    """When to believe what, ms and probabilities; `TurnConfig` explains them."""

    threshold: float
    min_speech_ms: int
    soft_end_ms: int
    release_ms: int
    max_turn_ms: int
    early_release_ms: int
    late_release_ms: int


class Phase(Enum):
    """Of one utterance."""

    QUIET = auto()
    SPEAKING = auto()
    SOFT_ENDED = auto()
    SPENT = auto()  # it was ended while the voice went on: none begins before it pauses


class Endpointer:
    """Turns a speech probability for each 32 ms window into the marks of `speech`.

    Args:
        rules: thresholds.

    Attributes:
        onset_windows: at START, how many windows ago the voice began, this one included.
        silence_windows: consecutive silent windows so far.
        is_held_open: no silence ends the utterance.
        is_complete: what a model says of the words before this pause; None: it does not know.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.phase = Phase.QUIET
        self.onset_windows = 0
        self.silence_windows = 0
        self.is_held_open = False
        self.is_complete: bool | None = None
        self._turn_windows = 0
        self._paused = False  # PAUSE was said of the silence that goes on

    def window(
        self, probability: float, *, early: bool = True, is_faint: bool = False
    ) -> tuple[Mark, ...]:
        """The marks that this window brings, in order; usually none.

        Args:
            early: an answer may be prepared before the turn is over.
            is_faint: a voice that begins is softened: one window of it is enough, if it is
                `FAINT` of the threshold.
        """
        begins_faintly = is_faint and self.phase is Phase.QUIET
        voiced = probability >= self._bar * (FAINT if begins_faintly else 1.0)
        self.silence_windows = 0 if voiced else self.silence_windows + 1
        if voiced:
            self._paused, self.is_complete = False, None
        if self.phase is Phase.QUIET:
            return self._quiet(voiced, 0 if begins_faintly else self.rules.min_speech_ms)
        if self.phase is Phase.SPENT:
            return self._spent()
        self._turn_windows += 1
        if self._turn_windows * WINDOW_MS >= self.rules.max_turn_ms:
            return self.end()
        if voiced:
            return self._voiced()
        return self._silent(early)

    def end(self, *, sound_stopped: bool = False) -> tuple[Mark, ...]:
        """End the utterance now: a limit was reached, or someone asked for it.

        Args:
            sound_stopped: nothing is heard any more, which is a pause too.
        """
        if not self.is_open:
            return ()
        marks = (*self._pause(), Mark.SOFT_END) if self.phase is Phase.SPEAKING else ()
        over = sound_stopped or self._is_pause
        self.phase = Phase.QUIET if over else Phase.SPENT
        self.onset_windows = 0
        return (*marks, Mark.RELEASE)

    @property
    def is_open(self) -> bool:
        """An utterance has begun and not ended."""
        return self.phase in (Phase.SPEAKING, Phase.SOFT_ENDED)

    @property
    def _is_pause(self) -> bool:
        """The silence so far is worth a soft end."""
        return self.silence_windows * WINDOW_MS >= self.rules.soft_end_ms

    @property
    def _release_ms(self) -> int:
        """Silence that ends the turn."""
        match self.is_complete:
            case None:
                return self.rules.release_ms
            case True:
                return self.rules.early_release_ms
            case False:
                return self.rules.late_release_ms

    @property
    def _bar(self) -> float:
        """A voice must be surer to begin than to go on."""
        if self.phase is Phase.SPEAKING:
            return self.rules.threshold - HYSTERESIS
        return self.rules.threshold

    def _quiet(self, voiced: bool, enough_ms: int) -> tuple[Mark, ...]:
        self.onset_windows = self.onset_windows + 1 if voiced else 0
        if not voiced or self.onset_windows * WINDOW_MS < enough_ms:
            return ()
        self.phase = Phase.SPEAKING
        self._turn_windows = self.onset_windows
        return (Mark.START,)

    def _spent(self) -> tuple[Mark, ...]:
        if self._is_pause:
            self.phase = Phase.QUIET
        return ()

    def _voiced(self) -> tuple[Mark, ...]:
        if self.phase is Phase.SPEAKING:
            return ()
        self.phase = Phase.SPEAKING
        return (Mark.RESUME,)

    def _pause(self) -> tuple[Mark, ...]:
        """PAUSE, once in each silence: every soft end has one before it."""
        marks = () if self._paused else (Mark.PAUSE,)
        self._paused = True
        return marks

    def _silent(self, early: bool) -> tuple[Mark, ...]:
        is_over = not self.is_held_open and self.silence_windows * WINDOW_MS >= self._release_ms
        marks: tuple[Mark, ...] = ()
        if self.phase is Phase.SPEAKING and (early or is_over):
            marks = self._pause()
            if self._is_pause:
                self.phase = Phase.SOFT_ENDED
                marks = (*marks, Mark.SOFT_END)
        if self.phase is Phase.SOFT_ENDED and is_over:
            self.phase = Phase.QUIET
            self.onset_windows = 0
            marks = (*marks, Mark.RELEASE)
        return marks
