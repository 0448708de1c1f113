"""A WAV file that can be played at any time while it grows."""

import errno
import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_PCM = 1
LONGEST = 0xFFFF_FFFF - _HEADER.size  # bytes of sound that a header can announce


class WavStream:
    """Written frame by frame, at any place; its header always tells how far it goes.

    The file is for its owner alone. Frames that were skipped are silence and take no room on most
    file systems.

    Args:
        path: of a file that is not there.
        rate: frames per second.
        channels: interleaved.
        resume: it may be there: what is written comes behind what it has.

    Raises:
        OSError: it is there, or cannot be made.
    """

    def __init__(self, path: Path, rate: int, channels: int, *, resume: bool = False) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (0 if resume else os.O_EXCL)
        self._fd = os.open(path, flags, 0o600)
        self._rate = rate
        self._channels = channels
        self._frame_bytes = 2 * channels
        size = os.fstat(self._fd).st_size
        self._base = max(0, size - _HEADER.size) // self._frame_bytes
        self._count = self._base

    def write(self, first: int, frames: NDArray[np.int16]) -> None:
        """Put frames in their place, over what is there.

        Args:
            first: index of the first, counted from what a resumed file had.
            frames: int16 [frames, channels].

        Raises:
            OSError: no room, or more than a WAV file can hold.
        """
        start = self._base + first
        end = start + len(frames)
        if end * self._frame_bytes > LONGEST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        data = frames.astype("<i2", order="C", copy=False).tobytes()
        self._put(_HEADER.size + start * self._frame_bytes, data)
        if end > self._count:  # the sound first: the header never promises what is not there
            self._put(0, self._header(end))
            self._count = end

    def close(self) -> None:
        """Let go of the file; safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _put(self, offset: int, data: bytes) -> None:
        while data:
            done = os.pwrite(self._fd, data, offset)
            offset, data = offset + done, data[done:]

    def _header(self, frames: int) -> bytes:
        """Source: Microsoft/IBM "Multimedia Programming Interface 1.0" (RIFF WAVE, PCM)."""
        size, width = frames * self._frame_bytes, self._frame_bytes
        riff = (b"RIFF", size + _HEADER.size - 8, b"WAVE")
        fmt = (b"fmt ", 16, _PCM, self._channels, self._rate, self._rate * width, width, 16)
        return _HEADER.pack(*riff, *fmt, b"data", size)
