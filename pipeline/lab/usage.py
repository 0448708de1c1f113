"""CPU and memory of programs, looked at now and then while they work."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from pipeline.lab.run import Usage

EVERY_S = 0.5
MOST = 480  # samples kept; beyond that every other one is dropped
MIB = 1 << 20


class Sampler:
    """Takes a sample every half second; a look at five programs takes about half a millisecond.

    A run of any length leaves a bounded number of samples: when there are too many, two become
    one, and the next ones are taken half as often. Without the package psutil there are none.

    Args:
        pids: the programs of this moment, by name.
        clock: s, monotonic.
    """

    def __init__(
        self, pids: Callable[[], Mapping[str, int]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.every_s = EVERY_S
        self._pids = pids
        self._clock = clock
        self._began = clock()
        self._psutil = _import_psutil()
        self._programs: dict[int, Any] = {}
        self._spent: dict[int, tuple[float, float]] = {}  # (when, CPU seconds until then)
        self._at: list[float] = []
        self._rows: list[dict[str, tuple[float, float]]] = []  # CPU percent, MiB

    async def run(self) -> None:
        """Sample until cancelled."""
        while self._psutil:
            self.sample()
            await asyncio.sleep(self.every_s)

    def sample(self) -> None:
        """Look at every program now; one that is gone has no value."""
        row = {}
        for name, pid in self._pids().items():
            if (found := self._look(pid)) is not None:
                row[name] = found
        self._at.append(round(self._clock() - self._began, 3))
        self._rows.append(row)
        if len(self._at) > MOST:
            self._thin()

    def usage(self) -> Usage:
        """All samples so far."""
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        return Usage(
            at_s=self._at,
            cpu_percent={name: self._column(name, 0) for name in names},
            memory_mib={name: self._column(name, 1) for name in names},
        )

    def _column(self, name: str, part: int) -> list[float | None]:
        return [round(row[name][part], 1) if name in row else None for row in self._rows]

    def _look(self, pid: int) -> tuple[float, float] | None:
        """CPU percent since the last look, and resident MiB.

        None at the first look, and of a program that is gone.
        """
        try:
            if pid not in self._programs:
                self._programs[pid] = self._psutil.Process(pid)
            program = self._programs[pid]
            with program.oneshot():
                times, memory = program.cpu_times(), program.memory_info()
        except self._psutil.Error:
            return None
        now, spent = self._clock(), times.user + times.system
        before = self._spent.get(pid)
        self._spent[pid] = (now, spent)
        if before is None or now <= before[0]:
            return None
        return 100 * (spent - before[1]) / (now - before[0]), memory.rss / MIB

    def _thin(self) -> None:
        """Two samples become their mean."""
        pairs = zip(self._rows[::2], self._rows[1::2], strict=False)
        self._rows = [_mean(one, other) for one, other in pairs]
        self._at = self._at[1::2][: len(self._rows)]
        self.every_s *= 2


def _mean(
    one: Mapping[str, tuple[float, float]], other: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    result = {**one, **other}
    for name in one.keys() & other.keys():
        result[name] = (
            (one[name][0] + other[name][0]) / 2,
            (one[name][1] + other[name][1]) / 2,
        )
    return result


def _import_psutil() -> Any:
    """The package; None where it is not installed."""
    try:
        import psutil
    except ImportError:
        return None
    return psutil
