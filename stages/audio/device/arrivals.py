"""When the next block of the microphone is whole: pure.

A device calls at an even pace; a sound server may call several times at once and then not for a
while. Waking for nothing costs more than all else that is done while nobody speaks.
"""

from collections import deque

from stages.audio.device.stamp import Stamp

SECOND = 1_000_000_000
REMEMBERED = 16  # gaps between calls
LONGEST_NS = 60_000_000  # a longer gap was an accident, and is not waited for again
LATE_NS = 1_000_000  # by which a call may be late


class Arrivals:
    """Follows the calls of one input.

    Args:
        rate: frames per second.
    """

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._at = 0  # of the last call, monotonic ns
        self._frames = 1
        self._gaps: deque[int] = deque(maxlen=REMEMBERED)

    def stamp(self, stamp: Stamp) -> None:
        """One more call."""
        if self._at:
            self._gaps.append(min(stamp.at - self._at, LONGEST_NS))
        self._at, self._frames = stamp.at, max(1, stamp.frames)

    def expected(self, frames: int) -> int:
        """When so many more frames will have come, monotonic ns, at the pace of late."""
        calls = max(1, -(-frames // self._frames))
        even = calls * self._frames * SECOND // self._rate
        return self._at + max(even, *self._gaps, 0) + LATE_NS
