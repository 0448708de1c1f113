"""The three graphs of `overhead` do the same, and their figures are what was noted."""

import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks import metrics, overhead
from benchmarks.overhead import GRAPHS, Found
from benchmarks.overhead_stages import HOPS

ORDER = {"lanes": 2, "turns": 1, "pause_s": [0.0, 0.0], "seed": 0}
MS = 1_000_000


@pytest.mark.parametrize("kind", GRAPHS)
def test_each_graph_answers_and_notes_every_hop_in_order(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.overhead_graph", kind, "--lanes", "2"],
        input=json.dumps(ORDER) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        cwd=overhead.ROOT,
    )
    assert done.returncode == 0, done.stderr
    ready, told = map(json.loads, done.stdout.splitlines())
    assert ready == {"ready": True}
    assert (told["turns"], told["unanswered"], told["recoveries"]) == (2, 0, 0)
    assert len(told["samples"]) == 2
    for hops in told["samples"]:
        instants = [instant for hop in hops for instant in hop]
        assert len(hops) == len(HOPS)
        assert instants == sorted(instants), "put, taken, put, taken …"
    assert told["cpu_ms"] > 0


def sample(*ms: int) -> list[list[int]]:
    """Put and taken of the four messages."""
    instants = [value * MS for value in ms]
    return [instants[at : at + 2] for at in range(0, 8, 2)]


def told(*samples: list[list[int]]) -> dict[str, Any]:
    return {
        "samples": list(samples),
        "unanswered": 1,
        "cpu_ms": 50.0,
        "wall_s": 0.5,
        "recoveries": 0,
    }


def found(*samples: list[list[int]]) -> Found:
    made = Found()
    made.add(told(*samples))
    return made


def test_the_figures_are_what_was_noted() -> None:
    one = found(sample(0, 1, 3, 4, 9, 11, 20, 21))
    assert one.whole_ms() == [21]
    assert one.transit_ms() == [1 + 1 + 2 + 1]
    assert one.stages_ms() == [2 + 5 + 9]
    assert [one.stage_ms(hop) for hop in range(3)] == [[2], [5], [9]]
    assert one.cpu_percent == 10
    kinds = {"ring": one, "mpqueue": found(sample(*range(0, 80, 10))), "asyncio": one}
    values = overhead.figures({1: kinds, 64: kinds}, kinds)
    assert values["end_to_first_block_p50_ms"] == 21
    assert values["mpqueue_ratio_p50"] == 21 / 70
    assert values["busy_ratio_p99"] == 1
    assert values["unanswered"] == 3
    assert [values[f"transit_p50_ms.ring-{hop}-64"] for hop in HOPS] == [1, 1, 2, 1]
    assert values["transit_p50_ms.ring-heard"] == 1
    assert "transit_p50_ms.ring-heard-1" not in values
    assert all(metrics.OVERHEAD.find(name) for name in values)
