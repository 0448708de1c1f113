"""Which frames of a voice have been sound by now: pure.

The device plays all the time, a voice only now and then: frames of a voice are counted apart, and
each call of the callback says which of them it took and what frame of the device was the first.
"""

from collections import deque
from dataclasses import dataclass, replace

from stages.audio.device.clock import SECOND, StreamClock
from stages.audio.device.stamp import Stamp

KEPT_S = 2  # how long it is remembered what was played


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Frames of a voice that were played without a break."""

    voice: int
    device: int
    count: int
    gap: int = 0  # frames of silence before it, though the voice went on


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
        for one in self._stretches:
            self._heard = max(self._heard, one.voice + min(max(device - one.device, 0), one.count))
            if device < one.device + one.count:
                break
        self._forget(device - KEPT_S * self.rate)
        if self._is_past(device):
            self._heard = max(self._heard, self._voice)
        return self._heard

    def _is_past(self, device: int) -> bool:
        """Whether all that was played has been sound; what lies behind it was thrown away."""
        last = self._stretches[-1] if self._stretches else None
        return last is None or device >= last.device + last.count

    def silence(self, start: int, end: int) -> int:
        """How long the device was without sound though a voice went on, ns.

        Args:
            start, end: silence that comes just before a frame above `start`, up to `end`.
        """
        gaps = sum(one.gap for one in self._stretches if start < one.voice <= end)
        return gaps * SECOND // self.rate

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
            if new.voice == last.voice + last.count:
                gap = new.device - last.device - last.count
                if gap == 0:
                    self._stretches[-1] = replace(last, count=last.count + new.count)
                    return
                new = replace(new, gap=gap)
        self._stretches.append(new)

    def _forget(self, device: int) -> None:
        """What ended before that frame of the device; the newest is kept."""
        while len(self._stretches) > 1:
            oldest = self._stretches[0]
            if oldest.device + oldest.count > device:
                return
            self._stretches.popleft()
