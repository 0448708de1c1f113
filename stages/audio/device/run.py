"""A stretch of a voice that is written to a device without a break."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Resampler(Protocol):
    """One stretch of a voice on its way to the device's rate."""

    def feed(self, samples: NDArray[np.float32], *, last: bool) -> NDArray[np.float32]:
        """Samples at the device's rate; they are late by some milliseconds, until the last."""


@dataclass
class Run:
    """A stretch of a voice that is written without a break.

    Attributes:
        start: the sink's frame of its first sample.
        fed, told: samples that were written, and of these, that were heard.
        is_whole: nothing follows.
    """

    start: int
    rate: int
    sink_rate: int
    resampler: Resampler
    fed: int = 0
    told: int = 0
    is_whole: bool = False
    end: int = 0  # the sink's frame behind it, once it is whole

    def heard(self, frames: int) -> int:
        """Samples of it that have sounded when so many frames of the sink have."""
        if self.is_whole and frames >= self.end:
            return self.fed
        return min(self.fed, max(0, (frames - self.start) * self.rate // self.sink_rate))

    def frame(self, sample: int) -> int:
        """The sink's frame of a sample."""
        return self.start + -(-sample * self.sink_rate // self.rate)
