"""The output side of a stream: where a voice is put, and what of it has sounded."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from stages.audio.device.playhead import Playhead
from stages.audio.device.stamp import Stamp
from stages.audio.device.stream import Stream, Way, frames_of

Frames = NDArray[np.float32]


class Speaker:
    """A `Sink` for `Playout`. Without a stream it is closed, and what was written is lost.

    Attributes:
        keeps: what is written is kept until it was `given`.
    """

    def __init__(self) -> None:
        self.rate = 48_000
        self.keeps = False
        self._stream: Stream | None = None
        self._playhead = Playhead(self.rate)
        self._flushed = 0  # frames that had been written at the last flush
        self._lost_at = 0  # frames that had sounded when the stream was lost
        self._waiting: deque[tuple[int, Frames]] = deque()  # written and not taken yet, by index

    @property
    def is_open(self) -> bool:
        """Whether there is a device."""
        return self._stream is not None

    @property
    def written(self) -> int:
        """Frames of a voice so far."""
        return self._stream.port.written if self._stream else self._lost_at

    @property
    def waiting(self) -> int:
        """Frames that the device has not taken yet."""
        return self._stream.port.written - self._stream.port.played if self._stream else 0

    @property
    def cut(self) -> int | None:
        """The first frame that the last flush threw away; None: the device has not said yet."""
        if self._stream is None:
            return self._lost_at
        # In this order: once the flush is obeyed there is a cut, and all counts as played.
        is_empty = self._stream.port.played >= self._flushed
        cut = self._stream.port.cut
        return self._flushed if cut is None and is_empty else cut

    def attach(self, stream: Stream, way: Way) -> None:
        """Play through a stream that is about to start."""
        self._stream, self._way = stream, way
        self.rate = way.format.rate
        self._playhead = Playhead(self.rate)
        self._waiting.clear()
        self._flushed = 0

    def detach(self, now: int) -> None:
        """The device is gone."""
        self._lost_at = self._playhead.heard(now)
        self._stream = None

    def put(self, frames: Frames) -> None:
        """Play float32 [n] behind what was written before."""
        assert self._stream, "a closed speaker is not written to"
        if self.keeps:
            self._waiting.append((self.written, frames))
        self._stream.port.put(frames_of(frames, self._way.format))

    def flush(self) -> None:
        """Throw away what the device has not taken yet."""
        if self._stream:
            self._flushed = self.written
            self._stream.port.flush()

    def heard(self, now: int) -> int:
        """Frames of a voice that have sounded by now."""
        return self._playhead.heard(now) if self._stream else self._lost_at

    def silence(self, start: int, end: int) -> int:
        """How long nothing was there to play just before frames above `start`, up to `end`, ns."""
        return self._playhead.silence(start, end)

    def time(self, frame: int) -> int:
        """When a frame sounds, monotonic ns."""
        return self._playhead.time(frame)

    def take(self, stamp: Stamp) -> None:
        """Follow one call."""
        self._playhead.take(stamp)

    def given(self, stamp: Stamp) -> Frames:
        """What one call gave to the device, float32 [stamp.frames]; it is asked once for each."""
        given = np.zeros(stamp.frames, np.float32)
        end = stamp.output + stamp.played
        while self._waiting:
            first, frames = self._waiting[0]
            start, stop = max(first, stamp.output), min(first + len(frames), end)
            if start < stop:
                given[start - stamp.output : stop - stamp.output] = frames[
                    start - first : stop - first
                ]
            if first + len(frames) > end:
                break
            self._waiting.popleft()
        return given

    @property
    def clock(self) -> "Playhead":
        """When frames of the device itself sound."""
        return self._playhead
