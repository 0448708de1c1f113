"""What the framework itself costs: stages without any time of their own, joined in three ways.

The same scripted stages, sessions and client run as five programs on our rings, as five programs
with a `multiprocessing.Queue` into each, and as tasks of one asyncio program with an
`asyncio.Queue` into each. All three are there at once and take turns in short rounds of random
order. The clock runs from the soft-end block being put on `speech` until the edge takes the
answer's first block of sound from `voice`.
"""

import argparse
import contextlib
import json
import os
import random
import select
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import metrics
from benchmarks.command import Progress, make_parser, run
from benchmarks.overhead_stages import HOPS
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median, percentile
from pipeline.errors import StageError

ROOT = Path(__file__).parents[1]
GRAPHS = ("ring", "mpqueue", "asyncio")
LANES = (1, 16, 64)
BUSY_LANES, WORK_MS = 4, 50.0
READY_S, ROUND_S, END_S = 60.0, 300.0, 5.0
SHORT_S = (0.02, 0.1)  # between an answer and the next question: as many turns as possible
TALK_S = (1.0, 3.0)  # as people talk: several lanes are seldom in the same phase
STAGES_BETWEEN = {"asr": 0, "llm": 1, "tts": 2}  # each from the message it takes to the next


@dataclass(frozen=True)
class Part:
    """Conversations of one kind.

    Attributes:
        lanes: at once.
        rounds: of each graph.
        turns: of each lane in a round.
        pause_s: before each turn, at least and at most.
    """

    lanes: int
    rounds: int
    turns: int
    pause_s: tuple[float, float] = TALK_S


FULL = (Part(1, 18, 8, SHORT_S), Part(16, 2, 4), Part(64, 1, 3))
QUICK = (Part(1, 3, 8, SHORT_S), Part(16, 1, 2), Part(64, 1, 1))
FULL_BUSY, QUICK_BUSY = Part(BUSY_LANES, 3, 6), Part(BUSY_LANES, 1, 3)
WARM_UP = Part(4, 1, 2, SHORT_S)


@dataclass
class Found:
    """What one graph did in one part.

    Attributes:
        samples: put and taken of each hop, ns, for each answer.
    """

    samples: list[list[list[int]]] = field(default_factory=list)
    unanswered: int = 0
    cpu_ms: float = 0
    wall_s: float = 0
    recoveries: int = 0

    def add(self, told: Mapping[str, Any]) -> None:
        """One more round."""
        self.samples += told["samples"]
        self.unanswered += told["unanswered"]
        self.cpu_ms += told["cpu_ms"]
        self.wall_s += told["wall_s"]
        self.recoveries = told["recoveries"]  # counted since the start

    def whole_ms(self) -> list[float]:
        """Soft end to first block."""
        return [(hops[-1][1] - hops[0][0]) / 1e6 for hops in self.samples]

    def hop_ms(self, hop: int) -> list[float]:
        """From a message being put until it was taken."""
        return [(hops[hop][1] - hops[hop][0]) / 1e6 for hops in self.samples]

    def transit_ms(self) -> list[float]:
        """The same of all four messages together."""
        return [sum(taken - put for put, taken in hops) / 1e6 for hops in self.samples]

    def stages_ms(self) -> list[float]:
        """What is left of the whole: the work of the three stages between."""
        return [a - b for a, b in zip(self.whole_ms(), self.transit_ms(), strict=True)]

    def stage_ms(self, hop: int) -> list[float]:
        """From a message being taken until the one that it caused was put."""
        return [(hops[hop + 1][0] - hops[hop][1]) / 1e6 for hops in self.samples]

    @property
    def cpu_percent(self) -> float:
        """Of one core, all programs."""
        return self.cpu_ms / self.wall_s / 10


class Graph:
    """A program of `benchmarks.overhead_graph`.

    Args:
        kind: how its stages are joined.
        lanes: at most.
        work_ms: of each stage on each turn.

    Raises:
        StageError: it cannot start.
    """

    def __init__(self, kind: str, lanes: int, work_ms: float) -> None:
        self.kind = kind
        options = ["--lanes", str(lanes), "--work-ms", str(work_ms)]
        self._program = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.overhead_graph", kind, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )

    def take_round(self, part: Part, seed: int) -> dict[str, Any]:
        """Hold a round of conversations. Raises StageError if the program is gone or silent."""
        assert self._program.stdin
        order = {"lanes": part.lanes, "turns": part.turns, "pause_s": part.pause_s, "seed": seed}
        with contextlib.suppress(BrokenPipeError):  # told below
            self._program.stdin.write(json.dumps(order).encode() + b"\n")
            self._program.stdin.flush()
        return self.hear(ROUND_S)

    def hear(self, seconds: float) -> dict[str, Any]:
        """The next line that it says.

        Raises:
            StageError: it says nothing.
        """
        assert self._program.stdout
        if select.select([self._program.stdout], [], [], seconds)[0] and (
            line := self._program.stdout.readline()
        ):
            told: dict[str, Any] = json.loads(line)
            return told
        raise StageError(f"the graph {self.kind} said nothing", "Its own message stands above")

    def end(self) -> None:
        """End it, with what it started."""
        assert self._program.stdin
        with contextlib.suppress(BrokenPipeError):
            self._program.stdin.close()
        try:
            self._program.wait(END_S)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        assert self._program.stdout
        self._program.stdout.close()


@contextlib.contextmanager
def graphs(lanes: int, work_ms: float, progress: Progress) -> Iterator[list[Graph]]:
    """All three, warm.

    Raises:
        StageError: one cannot start.
    """
    progress("starting the graphs")
    started: list[Graph] = []
    try:
        for kind in GRAPHS:
            started.append(Graph(kind, lanes, work_ms))
            started[-1].hear(READY_S)
        for graph in started:
            graph.take_round(WARM_UP, 0)
        yield started
    finally:
        for graph in started:
            graph.end()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.OVERHEAD, __doc__, "--quick --json overhead.json")
    run(metrics.OVERHEAD, parser, arguments, measure)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        StageError: a graph fails.
    """
    before = load_now()
    parts = QUICK if options.quick else FULL
    busy_part = QUICK_BUSY if options.quick else FULL_BUSY
    with graphs(max(LANES), 0, progress) as idle:
        found = {part.lanes: converse(idle, part, progress) for part in parts}
    with graphs(BUSY_LANES, WORK_MS, progress) as working:
        busy = converse(working, busy_part, progress, f", {WORK_MS:.0f} ms of work in each stage")
    return make_result(
        metrics.OVERHEAD.name,
        before=before,
        n=len(found[1]["ring"].samples),
        metrics=figures(found, busy),
        settings={
            "quick": options.quick,
            "turns": [part.lanes * part.turns * part.rounds for part in (*parts, busy_part)],
            "lanes": [part.lanes for part in (*parts, busy_part)],
            "cores": len(os.sched_getaffinity(0)),
            "work_ms": WORK_MS,
        },
    )


def converse(
    running: Sequence[Graph], part: Part, progress: Progress, about: str = ""
) -> dict[str, Found]:
    """Rounds in turns, in random order."""
    chance = random.Random(part.lanes)
    found: dict[str, Found] = defaultdict(Found)
    for number in range(part.rounds):
        for graph in chance.sample(running, len(running)):
            lanes = "1 lane" if part.lanes == 1 else f"{part.lanes} lanes"
            progress(f"{lanes}{about}: round {number + 1} of {part.rounds}, {graph.kind}")
            found[graph.kind].add(graph.take_round(part, number))
    return found


def figures(
    found: Mapping[int, Mapping[str, Found]], busy: Mapping[str, Found]
) -> dict[str, Figure]:
    """All metrics.

    Args:
        found: by number of lanes, then by graph.
        busy: with work in each stage.
    """
    one = {kind: graph.whole_ms() for kind, graph in found[1].items()}
    worked = {kind: graph.whole_ms() for kind, graph in busy.items()}
    ring, asyncio, mpqueue = one["ring"], one["asyncio"], one["mpqueue"]
    values: dict[str, Figure] = {
        "end_to_first_block_p50_ms": median(ring),
        "end_to_first_block_p99_ms": percentile(ring, 99),
        "mpqueue_p50_ms": median(mpqueue),
        "mpqueue_p99_ms": percentile(mpqueue, 99),
        "asyncio_p50_ms": median(asyncio),
        "asyncio_p99_ms": percentile(asyncio, 99),
        "mpqueue_ratio_p50": ratio(median(ring), median(mpqueue)),
        "mpqueue_ratio_p99": ratio(percentile(ring, 99), percentile(mpqueue, 99)),
        "busy_p50_ms": median(worked["ring"]),
        "busy_p99_ms": percentile(worked["ring"], 99),
        "busy_mpqueue_p99_ms": percentile(worked["mpqueue"], 99),
        "busy_asyncio_p50_ms": median(worked["asyncio"]),
        "busy_asyncio_p99_ms": percentile(worked["asyncio"], 99),
        "busy_ratio_p99": ratio(percentile(worked["ring"], 99), percentile(worked["asyncio"], 99)),
    }
    ring_one, last = found[1]["ring"], max(found)
    values |= {
        "transit_p50_ms": median(ring_one.transit_ms()),
        "stage_p50_ms": median(ring_one.stages_ms()),
        "lanes_p50_ms": median(found[last]["ring"].whole_ms()),
        "lanes_p99_ms": percentile(found[last]["ring"].whole_ms(), 99),
        "cpu_percent": found[last]["ring"].cpu_percent,
    }
    for kind in GRAPHS:
        for hop, name in enumerate(HOPS):
            values[f"transit_p50_ms.{kind}-{name}"] = median(found[1][kind].hop_ms(hop))
        for stage, hop in STAGES_BETWEEN.items():
            values[f"stage_p50_ms.{kind}-{stage}"] = median(found[1][kind].stage_ms(hop))
    for lanes, by_kind in found.items():
        for kind in GRAPHS:
            part, graph = f"{kind}-{lanes}", by_kind[kind]
            values[f"lanes_p50_ms.{part}"] = median(graph.whole_ms())
            values[f"lanes_p99_ms.{part}"] = percentile(graph.whole_ms(), 99)
            values[f"cpu_percent.{part}"] = graph.cpu_percent
            if lanes > 1:  # of one lane it stands above
                values |= {
                    f"transit_p50_ms.{kind}-{name}-{lanes}": median(graph.hop_ms(hop))
                    for hop, name in enumerate(HOPS)
                }
    everything = [*found.values(), busy]
    for kind in GRAPHS:
        lost = sum(by_kind[kind].unanswered for by_kind in everything)
        values["unanswered" if kind == "ring" else f"unanswered.{kind}"] = lost
    values["recoveries"] = found[last]["ring"].recoveries + busy["ring"].recoveries
    return values


def ratio(one: float | None, other: float | None) -> float | None:
    """One over the other; None where there is nothing."""
    return one / other if one and other else None


if __name__ == "__main__":
    sys.exit(main())
