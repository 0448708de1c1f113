"""What the kernel says of the cores that all programs share (Linux; None elsewhere)."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

STOLEN = 7  # of the columns of /proc/stat


def quota() -> float | None:
    """Cores of the control group; None: no limit, or it cannot be read."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        return None


@dataclass(frozen=True)
class Cores:
    """The kernel's accounts at one instant.

    Attributes:
        at: monotonic s.
        waited_us: in which some program waited for a core, since the machine started.
        ticks: of all cores, by kind.
    """

    at: float
    waited_us: int | None
    ticks: tuple[int, ...] | None

    @classmethod
    def now(cls) -> Self:
        """Read them."""
        return cls(time.monotonic(), _waited_us(), _ticks())

    def waiting(self, earlier: "Cores") -> float | None:
        """Share of the time since another instant in which some program waited for a core."""
        if self.waited_us is None or earlier.waited_us is None:
            return None
        # The kernel adds it up in steps, so that a short time may seem to have more than all.
        return min((self.waited_us - earlier.waited_us) / 1e6 / (self.at - earlier.at), 1.0)

    def stolen(self, earlier: "Cores") -> float | None:
        """Share of the time since another instant that the host gave to other machines."""
        if self.ticks is None or earlier.ticks is None:
            return None
        passed = [after - before for before, after in zip(earlier.ticks, self.ticks, strict=True)]
        return passed[STOLEN] / max(sum(passed), 1)


def _waited_us() -> int | None:
    try:
        line = Path("/proc/pressure/cpu").read_text().split("\n")[0]
        return int(line.rpartition("=")[2])
    except (OSError, ValueError):
        return None


def _ticks() -> tuple[int, ...] | None:
    try:
        words = Path("/proc/stat").read_text().split("\n")[0].split()
        return tuple(int(word) for word in words[1:9])
    except (OSError, ValueError):
        return None
