"""What silence is, how long rests are, and samples as they are played."""

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


def to_int16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """Full scale -1..1 as int16; what is louder is clipped."""
    return np.round(np.clip(samples, -1.0, 1.0) * 32767).astype(np.int16)
