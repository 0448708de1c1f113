"""What playback asks of a device."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Sink(Protocol):
    """The device; frames of a voice are counted from its opening on."""

    @property
    def is_open(self) -> bool:
        """False while the device is gone; what was written to it is lost."""

    @property
    def rate(self) -> int:
        """Frames per second."""

    @property
    def written(self) -> int:
        """Frames so far."""

    @property
    def waiting(self) -> int:
        """Frames that the device has not taken yet: its own buffer is none of ours."""

    @property
    def cut(self) -> int | None:
        """The first frame that will not be heard because of the last flush; None: not known yet."""

    def put(self, frames: NDArray[np.float32]) -> None:
        """Play mono samples behind what was written before."""

    def flush(self) -> None:
        """Throw away what the device has not taken yet."""

    def heard(self, now: int) -> int:
        """Frames that have sounded by now."""

    def silence(self, start: int, end: int) -> int:
        """How long nothing was there to play just before frames above `start`, up to `end`, ns."""

    def time(self, frame: int) -> int:
        """When a frame sounds, monotonic ns."""
