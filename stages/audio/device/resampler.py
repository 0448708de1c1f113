"""A stretch of a voice on its way to the device's rate."""

import numpy as np
from numpy.typing import NDArray

from stages.audio.convert import stream_resampler


class VoiceResampler:
    """Keeps its state from chunk to chunk.

    Args:
        rate: of the voice.
        to: of the device.
    """

    def __init__(self, rate: int, to: int) -> None:
        self._stream = stream_resampler(rate, to) if rate != to else None

    def feed(self, samples: NDArray[np.float32], *, last: bool) -> NDArray[np.float32]:
        """float32 [n] to float32 [m]; late by some milliseconds, until the last."""
        if self._stream is None:
            return samples
        frames: NDArray[np.float32] = self._stream.resample_chunk(samples, last=last)
        return frames
