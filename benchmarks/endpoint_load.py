"""The framework's own cost: scripted stages, many people, against a bare echo server."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks import usage
from benchmarks.endpoint_clients import Findings, Plan
from benchmarks.endpoint_server import Serving, serving
from benchmarks.result import Figure
from benchmarks.sample import percentile
from pipeline.errors import StageError

CLIP = Path(__file__).parents[1] / "demos" / "question.wav"
PAUSE_MS = 320  # of silence that ends a turn: longer than the pauses inside the clip
SPARE_S = 60.0  # for clients to connect and to be done
MOST_ADDED_MS = 30.0
STEP = 40  # connections more at each try


@dataclass(frozen=True)
class Case:
    """One load.

    Attributes:
        turn: "silero": voice activity by its model; "scripted": by level, which costs nothing.
        seconds: that everybody talks.
    """

    connections: int
    frame_ms: int
    turn: str
    seconds: float

    @property
    def name(self) -> str:
        """In the names of metrics."""
        suffix = "" if self.turn == "silero" else f"-{self.turn}"
        return f"{self.connections}x{self.frame_ms}ms{suffix}"


@dataclass(frozen=True)
class Seen:
    """What a load brought."""

    found: Findings
    echo: Findings
    memory_kib: float
    cpu_percent: float
    seconds: float

    @property
    def added_ms(self) -> float | None:
        """95th percentile above that of the bare server."""
        ours, bare = percentile(self.found.latency_ms, 95), percentile(self.echo.echo_ms, 95)
        return None if ours is None or bare is None else ours - bare

    @property
    def dropped(self) -> int:
        """What clients had to complain of."""
        return self.found.dropped + len(self.found.errors) + self.found.refused

    @property
    def unanswered(self) -> int:
        """Turns that were not answered."""
        outcomes = self.found.outcomes
        return sum(outcomes.values()) - outcomes.get("answered", 0)

    @property
    def holds(self) -> bool:
        """Whether so many can be served."""
        added = self.added_ms
        is_soon = added is not None and added <= MOST_ADDED_MS
        return is_soon and not self.dropped and not self.unanswered


def settings(case: Case) -> list[str]:
    """Stages without models but for voice activity; a turn ends with its soft end."""
    return [
        f"pipeline.lanes={case.connections}",
        f"turn.stage={case.turn}",
        "turn.end_model=",
        *(
            f"turn.{key}={PAUSE_MS}"
            for key in ("soft_end_ms", "release_ms", "early_release_ms", "late_release_ms")
        ),
        "serve.max_load=0",  # how many hold is the question
    ]


def measure(case: Case, progress: Callable[[str], None]) -> Seen:
    """One load, and the same frames to a bare server."""
    plan = Plan("", case.connections, case.frame_ms, case.seconds, clip=str(CLIP))
    progress(f"{case.name}: a bare server")
    with bare_server() as port:
        echo = talk(replace(plan, url=f"ws://127.0.0.1:{port}", echo=True))
    progress(f"{case.name}: everybody talks")
    with serving("scripted", settings(case)) as server:
        return under_load(server, plan, echo)


def under_load(server: Serving, plan: Plan, echo: Findings) -> Seen:
    """Everybody talks, while somebody looks at the server."""
    idle = server.memory_mib()
    before = usage.take(server.pids)
    looks: list[float] = []

    def look() -> None:
        looks.append(server.memory_mib())

    found = talk(replace(plan, url=server.websocket()), halfway=look)
    used = usage.take(server.pids).cpu_percent(before)
    memory = (looks[0] - idle) * 1024 / plan.connections
    return Seen(found, echo, memory, sum(used.values()), plan.seconds)


def talk(plan: Plan, halfway: Callable[[], None] = lambda: None) -> Findings:
    """Run the clients, in a program of their own.

    Raises:
        StageError: it failed.
    """
    command = [sys.executable, "-m", "benchmarks.endpoint_clients", json.dumps(asdict(plan))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        try:
            process.wait(plan.seconds / 2 + 2)
        except subprocess.TimeoutExpired:
            halfway()
        output, _ = process.communicate(timeout=plan.seconds + SPARE_S)
    finally:
        process.kill()
    if process.returncode:
        raise StageError(f"the clients ended with {process.returncode}")
    return Findings(**json.loads(output))


class bare_server:  # noqa: N801 - used as a context manager
    """An echo server, its port inside the block."""

    def __enter__(self) -> int:
        command = [sys.executable, "-m", "benchmarks.endpoint_echo"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdout
        return int(self._process.stdout.readline())

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)


def figures(case: Case, seen: Seen, *, is_first: bool) -> dict[str, Figure]:
    """The metrics of one load; the first one's stand without its name, too."""
    found, echo = seen.found, seen.echo
    own: dict[str, Figure] = {
        "added_latency_p95_ms": seen.added_ms,
        "latency_p50_ms": percentile(found.latency_ms, 50),
        "latency_p95_ms": percentile(found.latency_ms, 95),
        "echo_p50_ms": percentile(echo.echo_ms, 50),
        "echo_p95_ms": percentile(echo.echo_ms, 95),
        "dropped": seen.dropped,
        "unanswered": seen.unanswered,
        "memory_per_connection_kib": seen.memory_kib,
        "server_cpu_percent": seen.cpu_percent,
        "clients_cpu_percent": 100 * found.cpu_s / seen.seconds,
        "clients_behind_ms": found.behind_ms,
    }
    named = {f"{key}.{case.name}": value for key, value in own.items()}
    return {**own, **named} if is_first else named


def largest(
    first: Case, most: int, progress: Callable[[str], None]
) -> tuple[int, dict[str, Figure]]:
    """Add connections until they no longer hold; the largest count that did, and all figures."""
    held, found = 0, dict[str, Figure]()
    for count in range(first.connections, most + 1, STEP):
        case = replace(first, connections=count)
        seen = measure(case, progress)
        found |= figures(case, seen, is_first=False)
        if not seen.holds:
            break
        held = count
    return held, found
