"""An independent listener: what Whisper understands of synthetic speech."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.models import resolve

RATE = 16_000


class Judge:
    """Counts the words that were not understood.

    Args:
        reference: of a Whisper model; another one than the pipeline's own recogniser.
    """

    def __init__(self, reference: str) -> None:
        from faster_whisper import WhisperModel

        self._model: Any = WhisperModel(
            str(resolve(reference)), device="cpu", compute_type="int8", cpu_threads=1
        )

    def errors(self, texts: Sequence[str], sounds: Iterable[NDArray[np.int16]], rate: int) -> float:
        """Word errors, percent of all words."""
        import jiwer

        heard = [self.hear(sound, rate) for sound in sounds]
        return 100 * float(jiwer.wer([plain(text) for text in texts], heard))

    def hear(self, samples: NDArray[np.int16], rate: int) -> str:
        """What it understands, in plain words."""
        import soxr

        sound = soxr.resample(samples.astype(np.float32) / 32768, rate, RATE)
        silence = np.zeros(RATE // 2, np.float32)
        segments, _ = self._model.transcribe(
            np.concatenate([silence, sound, silence]),
            language="en",
            beam_size=5,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return plain(" ".join(segment.text for segment in segments))


def plain(text: str) -> str:
    """Lower case, letters and digits only."""
    return " ".join(re.sub(r"[^a-z0-9' ]", "", text.lower().replace("-", " ")).split())
