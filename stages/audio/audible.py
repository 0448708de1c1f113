"""When an answer becomes audible: the instant at which first-audio latency ends."""

import numpy as np
from numpy.typing import NDArray

from stages.audio.level import FULL_SCALE, amplitude

THRESHOLD_DBFS = -50.0


class FirstAudible:
    """Finds the first 10 ms of an answer whose RMS is -50 dBFS or more.

    Windows of 10 ms are counted from the answer's first sample and may span blocks.
    """

    def __init__(self) -> None:
        self.found: int | None = None
        self._energy = 0.0
        self._count = 0  # samples of the window so far
        self._began = 0

    def feed(self, samples: NDArray[np.int16], rate: int, at: int) -> int | None:
        """Look at the next samples.

        Args:
            samples: int16 [n] that follow those of the last call.
            rate: samples per second.
            at: monotonic ns at which the first of them sounds.

        Returns:
            When the window began to sound, in monotonic ns: once, with the call that found it.
        """
        if self.found is not None:
            return None
        window = rate // 100
        loud = window * (amplitude(THRESHOLD_DBFS) * FULL_SCALE) ** 2
        done = 0
        while done < len(samples):
            if self._count == 0:
                self._began = at + done * 1_000_000_000 // rate
            part = samples[done : done + window - self._count].astype(np.float64)
            self._energy += float(part @ part)
            self._count += len(part)
            done += len(part)
            if self._count >= window:
                if self._energy >= loud:
                    self.found = self._began
                    return self.found
                self._energy, self._count = 0.0, 0
        return None
