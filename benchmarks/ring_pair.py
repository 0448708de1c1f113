"""A writer and a reader program on one ring, and this program as their supervisor."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.ring_peer import OWNER, READER, RING, WRITER
from ringbuf import Arena, BellPipe, Layout, RingKind, RingSpec, TokenRing

ROOT = Path(__file__).parents[1]
MODES = {WRITER: "write", READER: "read"}
PATIENCE_S = 600.0


@dataclass(frozen=True)
class Report:
    """What one end said when it was done.

    Attributes:
        done: ids that it has written, or read and found right.
        error: which error ended it, "" if none.
        at: when, monotonic ns.
    """

    done: int
    error: str
    at: int


class RingPair:
    """The arena, and the programs that were started on it.

    Args:
        capacity: of the ring.
        first: where its counters begin.
    """

    def __init__(self, capacity: int, first: int) -> None:
        ring = RingSpec(RING, RingKind.TOKEN, WRITER, READER, capacity)
        layout = Layout(processes=(OWNER, WRITER, READER), lanes=1, rings=(ring,), words=())
        self.first = first
        self._bells = {name: BellPipe.create() for name in layout.processes}
        self.arena = Arena.create(layout, OWNER, self._bells)
        self.arena.claim(0)
        self.ring: TokenRing = self.arena.lane(0).token(RING)
        self.ring._core.seed(first)
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._reports: dict[str, int] = {}
        self._lifeline, self._lifeline_end = os.pipe()

    def start(self, process: str, count: int, seed: int) -> None:
        """Start one end."""
        report, report_end = os.pipe()
        fds = {
            "arena": str(self.arena.fd),
            "lifeline": str(self._lifeline),
            "report": str(report_end),
            **{
                name: f"{bell.read_fd if name == process else -1}:{bell.write_fd}"
                for name, bell in self._bells.items()
            },
        }
        inherited = [self.arena.fd, self._lifeline, report_end, self._bells[process].read_fd]
        listed = ",".join(f"{name}={value}" for name, value in fds.items())
        options = ["--count", str(count), "--seed", str(seed), "--fds", listed]
        self._programs[process] = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.ring_peer", MODES[process], *options],
            pass_fds=(*inherited, *(bell.write_fd for bell in self._bells.values())),
            cwd=ROOT,
        )
        os.close(report_end)
        self._reports[process] = report

    def kill(self, process: str) -> None:
        """End it at once, and wait until it is gone."""
        self._programs[process].kill()
        self._programs[process].wait()

    def report(self, process: str) -> Report:
        """Wait for the end of a program.

        Raises:
            RuntimeError: it said nothing.
        """
        with os.fdopen(self._reports.pop(process), "rb") as pipe:
            text = pipe.read()
        if not text:
            raise RuntimeError(f"the {process} ended without a report")
        self._programs[process].wait(PATIENCE_S)
        return Report(**json.loads(text))

    @property
    def written(self) -> int:
        """Slots that were published."""
        return self.ring.written - self.first & 0xFFFF_FFFF_FFFF_FFFF

    @property
    def recoveries(self) -> int:
        """Wake-ups of either end that only the safety timer noticed."""
        return sum(self.arena.bell_of(name).recoveries for name in (WRITER, READER))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for program in self._programs.values():
            program.kill()
            program.wait()
        self.arena.close()
        for bell in self._bells.values():
            bell.close()
        for fd in (self._lifeline, self._lifeline_end, *self._reports.values()):
            with contextlib.suppress(OSError):
                os.close(fd)
