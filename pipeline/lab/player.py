"""What a client of an endpoint plays, as it comes: pure."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stages.audio.microphone import SAMPLE_NS

JITTER_NS = 5_000_000  # a gap that is shorter is the clock of this program, and is not heard
Samples = NDArray[np.int16]
Put = Callable[[int, Samples], None]


@dataclass
class Answer:
    """One answer as it was heard.

    Attributes:
        pieces: (monotonic ns of the first sample, int16 [n]) in order, 16 kHz.
        underruns: (monotonic ns, length in ns) of each gap.
        ended: monotonic ns behind the last sample; of what is known so far.
    """

    pieces: list[tuple[int, Samples]] = field(default_factory=list)
    underruns: list[tuple[int, int]] = field(default_factory=list)
    ended: int = 0


class Player:
    """Plays each piece behind the one before it, or at once if that is over."""

    def __init__(self) -> None:
        self.answers: dict[int, Answer] = {}
        self._paused_at: int | None = None
        self._held: list[Samples] = []

    def is_playing(self, answer: int, now: int) -> bool:
        """Whether something of an answer is heard or held back at an instant."""
        mine = self.answers.get(answer)
        return mine is not None and (now < mine.ended or bool(self._held))

    def start(self, answer: int) -> None:
        """Sound of this answer follows."""
        self.answers[answer] = Answer()
        self._paused_at, self._held = None, []

    def take(self, answer: int, samples: Samples, now: int) -> None:
        """The next sound of an answer has come; it may be the first."""
        if answer not in self.answers:
            self.start(answer)
        if self._paused_at is not None:
            self._held.append(samples)
            return
        self._play(self.answers[answer], samples, now)

    def pause(self, answer: int, now: int) -> None:
        """Stop, and keep what is not played."""
        if answer in self.answers and self._paused_at is None:
            self._held = self._stop(self.answers[answer], now)
            self._paused_at = now

    def resume(self, answer: int, now: int) -> None:
        """Go on where it stopped."""
        if self._paused_at is None or answer not in self.answers:
            return
        held, self._paused_at, self._held = self._held, None, []
        self.answers[answer].ended = now  # the pause is no gap
        for samples in held:
            self._play(self.answers[answer], samples, now)

    def cut(self, answer: int, now: int) -> None:
        """Stop, and drop what is not played."""
        if answer in self.answers:
            self._stop(self.answers[answer], now)
        self._paused_at, self._held = None, []

    @staticmethod
    def _play(answer: Answer, samples: Samples, now: int) -> None:
        start = max(answer.ended, now)
        if answer.pieces and start > answer.ended + JITTER_NS:
            answer.underruns.append((answer.ended, start - answer.ended))
        answer.pieces.append((start, samples))
        answer.ended = start + len(samples) * SAMPLE_NS

    @staticmethod
    def _stop(answer: Answer, now: int) -> list[Samples]:
        """What was to be heard from now on, taken away."""
        kept: list[tuple[int, Samples]] = []
        rest: list[Samples] = []
        for start, samples in answer.pieces:
            heard = min(max(0, (now - start) // SAMPLE_NS), len(samples))
            if heard:
                kept.append((start, samples[:heard]))
            if heard < len(samples):
                rest.append(samples[heard:])
        answer.pieces = kept
        answer.ended = min(answer.ended, now)
        return rest
