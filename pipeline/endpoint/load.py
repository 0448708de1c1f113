"""How much of the machine the pipeline uses, and whether one more person would be too many.

The rule: somebody is let in while, over the last SPAN_S seconds, the programs of this pipeline used
less than `most` of the cores that they may use, each conversation at its own share counted once
more; and while no answer had to wait for its voice in that time. The first one is always let in.
What is measured is what is used, not what is open: people who listen cost little, and make room.
"""

import time
from collections import deque
from collections.abc import Iterable

SPAN_S = 10.0
LOOK_S = 1.0
_SCHED = 2  # CPUCLOCK_SCHED of clock_getcpuclockid(3): time on a core, all threads
_PER_THREAD = 3  # bits below the process id in a clock's number


class Load:
    """The share of the cores that some programs used lately. Pure, but for `cpu_ns`.

    Args:
        cores: that they may use.
        most: share of them, from which nobody more is let in; 0: it does not matter.
    """

    def __init__(self, cores: int, most: float) -> None:
        self._cores = cores
        self._most = most
        self._looks: deque[tuple[float, int, int]] = deque()  # at, ns of a core, conversations
        self._late_at: float | None = None

    @property
    def share(self) -> float:
        """Of the cores, over the last seconds; 0 before there is anything to tell."""
        if len(self._looks) < 2:
            return 0.0
        (begin, before, _), (end, after, _) = self._looks[0], self._looks[-1]
        return max(0.0, (after - before) / 1e9 / (end - begin) / self._cores)

    def look(self, now_s: float, used_ns: int, conversations: int) -> None:
        """Take a measurement.

        Args:
            used_ns: time on a core of all programs since they began; it may fall when one of them
                dies: what was measured before is then forgotten.
            conversations: that are open.
        """
        if self._looks and used_ns < self._looks[-1][1]:
            self._looks.clear()
        self._looks.append((now_s, used_ns, conversations))
        while len(self._looks) > 2 and self._looks[1][0] <= now_s - SPAN_S:
            self._looks.popleft()

    def was_late(self, now_s: float) -> None:
        """An answer had to wait for its voice."""
        self._late_at = now_s

    def has_room(self, now_s: float, conversations: int) -> bool:
        """Whether one more is affordable.

        Args:
            conversations: that have a place.
        """
        if not self._most or not conversations:
            return True
        if self._late_at is not None and now_s - self._late_at < SPAN_S:
            return False
        counted = [count for _, _, count in self._looks]
        average = sum(counted) / len(counted) if counted else 0
        each = self.share / average if average else 0.0
        return self.share + each <= self._most


def cpu_ns(pids: Iterable[int]) -> int:
    """Time that programs have spent on a core, ns; one that is gone counts 0 (Linux)."""
    total = 0
    for pid in pids:
        try:
            total += time.clock_gettime_ns(~pid << _PER_THREAD | _SCHED)
        except OSError:
            continue
    return total
