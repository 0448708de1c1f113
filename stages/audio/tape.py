"""Two tracks of sound on one time axis, in a window that moves on: pure."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stages.topology import INPUT_RATE

LEFT, RIGHT = 0, 1
WINDOW = 4 * INPUT_RATE  # frames; sound that is told later than so loses its place
Write = Callable[[int, NDArray[np.int16]], None]


class Tape:
    """Puts samples where they belong and passes frames on; what nobody put is silence.

    Frames may be passed on more than once, in any order: the last version is right. Frames of
    silence alone may never be passed on.

    Args:
        write: gets the index of a first frame, and int16 [frames, 2]; a view, valid until it
            returns.
        window: frames that are kept for what comes late.

    Attributes:
        ends: frames before the end of each track.
    """

    def __init__(self, write: Write, window: int = WINDOW) -> None:
        self.ends = [0, 0]
        self._write = write
        self._frames = np.zeros((window, 2), np.int16)
        self._start = 0  # the frame that the window begins with
        self._clean = 0  # frames before this one were passed on as they are

    def put(self, track: int, position: int, samples: NDArray[np.int16]) -> None:
        """Add to a track, never over what it has: then it comes right behind that.

        Args:
            position: frame of the first sample.
            samples: int16 [n].
        """
        at = max(position, self.ends[track], self._start)
        half = len(self._frames) // 2
        for first in range(0, len(samples), half):
            part = samples[first : first + half]
            self._make_room(at + len(part))
            offset = at - self._start
            self._frames[offset : offset + len(part), track] = part
            self._clean = min(self._clean, at)
            at += len(part)
            self.ends[track] = at

    def flush(self) -> None:
        """Pass on what has changed."""
        end = max(self.ends)
        if self._clean < end:
            first = max(self._clean, self._start)
            self._write(first, self._frames[first - self._start : end - self._start])
            self._clean = end

    def _make_room(self, end: int) -> None:
        """Move the window on by half or more if a frame before `end` lies behind it."""
        if end <= self._start + len(self._frames):
            return
        self.flush()
        start = end - len(self._frames) // 2
        kept = self._frames[start - self._start :].copy()
        self._frames[:] = 0
        self._frames[: len(kept)] = kept
        self._start = start
