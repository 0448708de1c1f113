"""Sound between the rate of a client and those of the pipeline: pure."""

import numpy as np
from numpy.typing import NDArray

from stages.audio.convert import Converter, Format
from stages.topology import INPUT_RATE


class Voice:
    """The sound of one answer after the other, on its way to a client's rate.

    Args:
        rate: the client's, samples per second.
    """

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._source = rate
        self._converter: Converter | None = None
        self.sent = 0  # samples of this answer, at the client's rate

    def begin(self) -> None:
        """Another answer: nothing of the last one reaches it."""
        self._converter = None
        self.sent = 0

    def feed(self, samples: NDArray[np.int16], rate: int) -> bytes:
        """What is ready of int16 [n] at `rate`."""
        if rate == self.rate:
            return self._out(samples)
        if self._converter is None or rate != self._source:
            self._source = rate
            self._converter = Converter(Format(rate), self.rate)
        return self._out(self._converter.feed(samples.astype("<i2", copy=False).tobytes()))

    def finish(self) -> bytes:
        """The end of the answer: what the resampler still has."""
        if self._converter is None:
            return b""
        rest, self._converter = self._converter.finish(), None
        return self._out(rest)

    def source_samples(self, samples: int) -> int:
        """How many samples of the voice so many of the client's are."""
        return samples * self._source // self.rate

    def _out(self, samples: NDArray[np.int16]) -> bytes:
        self.sent += len(samples)
        return samples.astype("<i2", copy=False).tobytes()


def ear(rate: int) -> Converter:
    """From a client's sound, int16 little-endian at `rate`, to what the pipeline hears."""
    return Converter(Format(rate), INPUT_RATE)
