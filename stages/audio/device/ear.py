"""The input side of a stream: the device's frames to 16 kHz mono, each sample with its time."""

import numpy as np
from numpy.typing import NDArray

from stages.audio.convert import Converter, Format
from stages.audio.device.clock import StreamClock
from stages.audio.device.stamp import Stamp
from stages.topology import INPUT_RATE

Samples = NDArray[np.int16]


class Ear:
    """Frames in, samples out; pure.

    Sample n of the output is the sound of frame n * rate / 16000: the resampler is late, but does
    not shift.

    Attributes:
        clock: of the device's frames.
        count: samples that were taken so far.
    """

    def __init__(self, source: Format) -> None:
        self.clock = StreamClock(source.rate)
        self.count = 0
        self._rate = source.rate
        self._converter = Converter(source)
        self._ready: list[Samples] = []
        self._ahead = 0  # samples in `_ready`

    def stamp(self, stamp: Stamp) -> None:
        """Follow one call."""
        self.clock.stamp(stamp.input, stamp.heard_at)

    def feed(self, frames: bytes) -> None:
        """Frames of the device, in its format."""
        samples = self._converter.feed(frames)
        if len(samples):
            self._ready.append(samples)
            self._ahead += len(samples)

    @property
    def ahead(self) -> int:
        """Samples that can be taken."""
        return self._ahead

    def take(self, count: int) -> Samples:
        """The next samples, int16 [count]; there must be as many."""
        joined = np.concatenate(self._ready)
        self._ready = [joined[count:]]
        self._ahead -= count
        self.count += count
        return joined[:count]

    def time(self, sample: int) -> int:
        """When a sample was sound, monotonic ns; something must have been stamped."""
        return self.clock.time(sample * self._rate // INPUT_RATE)
