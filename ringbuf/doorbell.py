"""How a process sleeps until one of its lanes has something for it."""

import os
from dataclasses import dataclass
from typing import Self

from ringbuf._core import Doorbell

__all__ = ["BellPipe", "Doorbell"]


@dataclass(frozen=True)
class BellPipe:
    """The pipe of one process's doorbell; only bytes that mean "look" go through it.

    Args:
        read_fd: for its owner; -1 elsewhere.
        write_fd: for everyone who may ring.
    """

    read_fd: int
    write_fd: int

    @classmethod
    def create(cls) -> Self:
        """A new pipe, neither end of which ever blocks."""
        read_fd, write_fd = os.pipe()
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        return cls(read_fd, write_fd)

    def close(self) -> None:
        """Close both ends."""
        for fd in (self.read_fd, self.write_fd):
            if fd >= 0:
                os.close(fd)
