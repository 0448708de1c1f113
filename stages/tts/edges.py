"""Silence around a sentence, dropped: while it is still growing, or all at once."""

import numpy as np
from numpy.typing import NDArray

from stages.tts.sound import FADE_S, FLOOR, FRAME_S, LEAD_S, TAIL_S

Floats = NDArray[np.float32]


class Edges:
    """Passes the sound of one sentence on, without the silence before and after it.

    Silence waits until sound follows. What is passed on is one stretch of the sentence, faded at
    both ends, and the same however the sound was split into pieces.

    Args:
        rate: samples a second.
    """

    def __init__(self, rate: int) -> None:
        self._frame = max(1, round(FRAME_S * rate))
        self._lead, self._tail, self._fade = (round(s * rate) for s in (LEAD_S, TAIL_S, FADE_S))
        self._held = np.zeros(0, np.float32)
        self._first = 0  # sample of the sentence at which it begins
        self._seen = 0  # samples of the sentence that were looked at, whole frames
        self._loud = 0  # the last loud one of these, and one; 0: none yet
        self._begun = False

    def feed(self, samples: Floats) -> tuple[int, Floats]:
        """What can be passed on now, and at which sample of the sentence it begins."""
        self._held = np.concatenate([self._held, samples])
        starts = self._look()
        if not self._begun:
            if starts is None:
                self._drop(max(self._seen - self._lead - self._first, 0))
                return self._first, self._held[:0]
            self._begin(starts)
        # The last samples wait: they are faded if nothing follows.
        end = self._first + len(self._held)
        return self._take(min(self._loud, end - self._fade))

    def finish(self) -> tuple[int, Floats]:
        """The end of the sentence, likewise."""
        if not self._begun:
            return self._first, self._held[:0]
        first, samples = self._take(self._loud + self._tail)
        length = min(self._fade, len(samples))
        samples[len(samples) - length :] *= _ramp(length)[::-1]
        return first, samples

    def _look(self) -> int | None:
        """Judge the frames that are complete; the first loud one's place, if there is one."""
        new = self._held[self._seen - self._first :]
        count = len(new) // self._frame
        frames = new[: count * self._frame].reshape(count, self._frame)
        loud = np.flatnonzero(np.sqrt(np.mean(np.square(frames), axis=1)) >= FLOOR)
        before = self._seen
        self._seen += count * self._frame
        if not len(loud):
            return None
        self._loud = before + (int(loud[-1]) + 1) * self._frame
        return before + int(loud[0]) * self._frame

    def _begin(self, loud: int) -> None:
        """Drop the silence before the first loud frame, but for the onset of an h or an f."""
        self._begun = True
        self._drop(max(loud - self._lead - self._first, 0))
        length = min(self._fade, len(self._held))
        self._held[:length] *= _ramp(length)

    def _drop(self, count: int) -> None:
        self._held = self._held[count:].copy()
        self._first += count

    def _take(self, until: int) -> tuple[int, Floats]:
        first, count = self._first, max(until - self._first, 0)
        samples = self._held[:count].copy()
        self._drop(len(samples))
        return first, samples


def trim(samples: Floats, rate: int) -> Floats:
    """The audible part of a whole clause, faded at both ends so that it joins without a step.

    Args:
        samples: float32 [n] in -1..1.
        rate: samples a second.
    """
    edges = Edges(rate)
    (_, most), (_, rest) = edges.feed(samples), edges.finish()
    return np.concatenate([most, rest])


def _ramp(length: int) -> Floats:
    """From zero towards one."""
    return np.arange(length, dtype=np.float32) / np.float32(max(length, 1))
