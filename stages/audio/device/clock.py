"""A device's clock against ours: when each frame was, or will be, sound. Pure.

A stamp says when the first frame of a call was sound, but with jitter: callbacks come late, and
sound servers estimate. Over many calls the device's own crystal is far steadier, so the time of a
frame comes from a delay-locked loop of second order that follows the stamps slowly (Fons
Adriaensen, "Using a DLL to filter time", 2005).
"""

import math
from dataclasses import dataclass, field

SECOND = 1_000_000_000
JUMP_NS = 80_000_000  # a stamp that is farther off is no jitter: servers call 50 ms at once;
JUMPS = 4  # if the next ones are too, sound was lost or inserted
BANDWIDTH_HZ = 0.1


@dataclass
class StreamClock:
    """Times of frames.

    Attributes:
        rate: frames per second, nominal.
        jumps: how often the stamps left the loop behind.
    """

    rate: int
    jumps: int = 0
    _frame: int = 0  # of the newest stamp
    _time: float = 0.0  # ns at which it was sound, filtered
    _period: float = field(init=False)  # ns of a frame, filtered
    _far: int = 0  # stamps in a row that were farther off
    _has_begun: bool = False

    def __post_init__(self) -> None:
        self._period = SECOND / self.rate

    @property
    def has_begun(self) -> bool:
        """Whether anything was stamped."""
        return self._has_begun

    def stamp(self, frame: int, at: int) -> None:
        """A frame was sound at `at`, monotonic ns, more or less; frames only grow."""
        if not self._has_begun:
            self._begin(frame, at)
            return
        count = frame - self._frame
        if count <= 0:
            return
        expected = self._time + count * self._period
        error = at - expected
        self._far = self._far + 1 if abs(error) > JUMP_NS else 0
        if self._far >= JUMPS:
            self.jumps += 1
            self._begin(frame, at)
        elif not self._far:
            omega = min(2 * math.pi * BANDWIDTH_HZ * count / self.rate, 0.5)
            self._time = expected + math.sqrt(2) * omega * error
            self._period += omega * omega * error / count
            self._frame = frame

    def time(self, frame: int) -> int:
        """When a frame was sound, or will be, monotonic ns; something must have been stamped."""
        return round(self._time + (frame - self._frame) * self._period)

    def frame(self, at: int) -> int:
        """The frame that was sound at an instant, or will be; the inverse of `time`."""
        return self._frame + round((at - self._time) / self._period)

    def _begin(self, frame: int, at: int) -> None:
        self._frame, self._time, self._period = frame, float(at), SECOND / self.rate
        self._far, self._has_begun = 0, True
