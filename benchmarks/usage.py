"""What programs cost, by the kernel's own accounts (Linux)."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.cpu_time import cpu_ns

WHOLE = ("Pss",)
OWN = ("Pss_Anon", "Pss_Shmem")  # a share of files changes when other programs come and go


@dataclass(frozen=True)
class Usage:
    """Of one program, since it began.

    Attributes:
        cpu_ns: time on a core.
        wakeups: voluntary context switches: how often it went to sleep.
    """

    cpu_ns: int
    wakeups: int

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(self.cpu_ns - other.cpu_ns, self.wakeups - other.wakeups)


@dataclass(frozen=True)
class Snapshot:
    """Of several programs at one instant, monotonic ns."""

    at: int
    programs: dict[str, Usage]

    def cpu_percent(self, earlier: "Snapshot") -> dict[str, float]:
        """Of one core, by each program, since another snapshot."""
        span = self.at - earlier.at
        return {
            name: 100 * (usage - earlier.programs[name]).cpu_ns / span
            for name, usage in self.programs.items()
        }

    def wakeups_per_s(self, earlier: "Snapshot") -> dict[str, float]:
        """How often each program went to sleep in a second, since another snapshot."""
        span_s = (self.at - earlier.at) / 1e9
        return {
            name: (usage - earlier.programs[name]).wakeups / span_s
            for name, usage in self.programs.items()
        }


def take(pids: Mapping[str, int]) -> Snapshot:
    """Look at programs now.

    Raises:
        OSError: one is gone.
    """
    return Snapshot(
        time.monotonic_ns(),
        {name: Usage(cpu_ns(pid), wakeups(pid)) for name, pid in pids.items()},
    )


def wakeups(pid: int) -> int:
    """Voluntary context switches of a program's living threads.

    Raises:
        OSError: there is no such program.
    """
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(parse_wakeups((task / "status").read_text(encoding="utf-8")) for task in tasks)


def memory_mib(pid: int, parts: Sequence[str] = WHOLE) -> float:
    """PSS of one program, or parts of it, in MiB.

    Raises:
        OSError: there is no such program.
    """
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    return parse_pss(rollup, parts) / 1024


def parse_wakeups(status: str) -> int:
    """Voluntary context switches in the text of /proc/PID/task/TID/status."""
    return _number(status, "voluntary_ctxt_switches")


def parse_pss(rollup: str, parts: Sequence[str] = WHOLE) -> int:
    """KiB of PSS in the text of /proc/PID/smaps_rollup."""
    return sum(_number(rollup, part) for part in parts)


def _number(text: str, key: str) -> int:
    """The number after `key:` at the start of a line. Raises ValueError if there is none."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0])
    raise ValueError(f"no {key} in {len(text)} characters")
