"""Which frames of a voice have been sound by now: pure.

The device plays all the time, a voice only now and then: frames of a voice are counted apart, and
each call of the callback says which of them it took and what frame of the device was the first.
"""

from collections import deque
from dataclasses import dataclass

from stages.audio.device.clock import StreamClock
from stages.audio.device.stamp import Stamp

KEPT_NS = 2_000_000_000  # how long it is remembered what was played


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Frames of a voice that were played without a break."""

    voice: int
    device: int
    count: int


class Playhead:
    """Follows one output stream.

    Args:
        rate: of the device.
    """

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.clock = StreamClock(rate)
        self._stretches: deque[_Stretch] = deque()
        self._device = 0  # frames that the device has asked for
        self._voice = 0  # frames of a voice that it was given
        self._heard = 0

    def take(self, stamp: Stamp) -> None:
        """One more call."""
        self.clock.stamp(self._device, stamp.played_at)
        if stamp.played:
            self._add(_Stretch(stamp.output, self._device, stamp.played))
        self._voice = stamp.output + stamp.played
        self._device += stamp.frames

    def heard(self, now: int) -> int:
        """How many frames of a voice have been sound by now, or were thrown away before it."""
        if not self.clock.has_begun:
            return 0
        device = self.clock.frame(now)
        while self._stretches:
            one = self._stretches[0]
            self._heard = max(self._heard, one.voice + min(max(device - one.device, 0), one.count))
            if device < one.device + one.count or len(self._stretches) == 1:
                break
            self._stretches.popleft()
        if self._is_past(device):
            self._heard = max(self._heard, self._voice)
        return self._heard

    def _is_past(self, device: int) -> bool:
        """Whether all that was played has been sound; what lies behind it was thrown away."""
        last = self._stretches[-1] if self._stretches else None
        return last is None or device >= last.device + last.count

    def time(self, frame: int) -> int:
        """When a frame of a voice was sound, or will be if it goes on without a break."""
        for one in self._stretches:
            if frame < one.voice + one.count:
                return self.clock.time(one.device + frame - one.voice)
        return self.clock.time(self._device + frame - self._voice)

    def _add(self, new: _Stretch) -> None:
        """Join it to the one before, if nothing is between them."""
        if self._stretches:
            last = self._stretches[-1]
            gap = new.voice - last.voice, new.device - last.device
            if gap == (last.count, last.count):
                self._stretches[-1] = _Stretch(last.voice, last.device, last.count + new.count)
                return
        self._stretches.append(new)
