"""The edges of a clause's sound: silence dropped, steps faded away, rests of known length."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.tts.boundaries import Ending

FRAME_S = 0.005
FLOOR = 10 ** (-50 / 20)  # RMS below which a frame counts as silence, as in first-audio latency
LEAD_S = 0.010  # kept before the first loud frame: the quiet onset of an h or an f
TAIL_S = 0.030  # kept after the last one: the end of a breath
FADE_S = 0.004


@dataclass(frozen=True)
class Rests:
    """Seconds of silence after a clause, by how it ends."""

    sentence: float = 0.25
    phrase: float = 0.10
    word: float = 0.0

    def after(self, ending: Ending, rate: int) -> NDArray[np.int16]:
        """Digital silence to play after a clause, int16 samples."""
        seconds = {
            Ending.SENTENCE: self.sentence,
            Ending.PHRASE: self.phrase,
            Ending.WORD: self.word,
        }[ending]
        return np.zeros(round(seconds * rate), np.int16)


def trim(samples: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """The audible part of a clause, faded at both ends so that it joins silence without a step.

    Args:
        samples: [n] float32 in -1..1.
        rate: samples a second.
    """
    frame = max(1, round(FRAME_S * rate))
    count = len(samples) // frame
    frames = samples[: count * frame].reshape(count, frame)  # [frames, samples]
    loud = np.flatnonzero(np.sqrt(np.mean(np.square(frames), axis=1)) >= FLOOR)
    if not len(loud):
        return samples[:0]
    first = max(0, int(loud[0]) * frame - round(LEAD_S * rate))
    last = (int(loud[-1]) + 1) * frame + round(TAIL_S * rate)
    return fade(samples[first:last], rate)


def fade(samples: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """A copy whose first and last few milliseconds rise from and fall to zero."""
    length = min(round(FADE_S * rate), len(samples) // 2)
    ramp = np.arange(length, dtype=np.float32) / max(length, 1)
    faded = samples.copy()
    faded[:length] *= ramp
    faded[len(faded) - length :] *= ramp[::-1]
    return faded


def to_int16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """Full scale -1..1 as int16; what is louder is clipped."""
    return np.round(np.clip(samples, -1.0, 1.0) * 32767).astype(np.int16)
