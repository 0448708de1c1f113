"""Shared memory without a name: a descriptor, a mapping, and pages that come and go."""

import fcntl
import mmap
import os
import sys
from pathlib import Path

from ringbuf import _core

CGROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")


def create(size: int) -> int:
    """A descriptor of `size` bytes of shared memory.

    It has no name, so nothing is left in /dev/shm and there is nothing to unlink: the memory
    lives as long as a descriptor or a mapping of it does, in whichever process.
    """
    fd = _core.anonymous()
    os.ftruncate(fd, size)
    return fd


def seal(fd: int) -> None:
    """Fix the size for ever, so that no peer can make an access of another one fail (Linux)."""
    if sys.platform == "linux":
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)


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


def is_allocated(fd: int, offset: int, size: int) -> bool:
    """Whether any page of a range has memory; moves the descriptor's position."""
    try:
        return os.lseek(fd, offset, os.SEEK_DATA) < offset + size
    except OSError:  # ENXIO: no data from there to the end
        return False


def left() -> int | None:
    """Bytes that this process could still get, None where the system does not say.

    The kernel answers a shortage by killing a process, not by an error, so whoever wants to refuse
    has to ask first. Sources: MemAvailable, and the memory limit of this control group (version
    2), in which file caches count as free.
    """
    known = [value for value in (_available(MEMINFO), _below_limit(CGROUP)) if value is not None]
    return min(known, default=None)


def _available(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in fields else None


def _below_limit(group: Path) -> int | None:
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):  # no version 2, or "max"
        return None
    stat = dict(line.split() for line in lines)
    caches = int(stat.get("inactive_file", 0)) + int(stat.get("active_file", 0))
    return max(0, limit - used + caches)
