"""Shared memory without a name: a descriptor, a mapping, and pages that come and go."""

import mmap
import os
import sys

from ringbuf import _core


def create(size: int) -> int:
    """A descriptor of `size` bytes of shared memory.

    It has no name, so nothing is left in /dev/shm and there is nothing to unlink: the memory
    lives as long as a descriptor or a mapping of it does, in whichever process.
    """
    fd = _core.anonymous()
    os.ftruncate(fd, size)
    return fd


def allocate(fd: int, offset: int, size: int) -> None:
    """Get memory for a page-aligned range now, so that no later access can fail.

    Raises:
        OSError: the system has no more.
    """
    if hasattr(os, "posix_fallocate"):  # not on macOS, where pages come when they are touched
        os.posix_fallocate(fd, offset, size)


def give_back(mapping: mmap.mmap, offset: int, size: int) -> None:
    """Return the memory of a page-aligned range to the system; it reads as zeros afterwards."""
    if sys.platform == "linux":
        mapping.madvise(mmap.MADV_REMOVE, offset, size)
