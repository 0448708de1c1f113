import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.receiver import Acks, follow
from benchmarks.ring import latency_figures
from ringbuf import Kind, TokenRun

ROOT = Path(__file__).parents[2]


def test_latencies_become_microseconds_and_a_ratio() -> None:
    figures = latency_figures({"token": [10_000, 20_000, 30_000], "simplequeue": [40_000] * 3})
    assert figures["token_p50_us"] == 20
    assert figures["token_ratio_p99"] < 1
    assert figures["simplequeue_p99_us"] == 40
    assert figures["token_ratio_p50"] == 0.5


def test_a_batch_that_lacks_ids_is_noticed() -> None:
    run = TokenRun(np.arange(4, 8, dtype=np.int32), 4, 1, 1, Kind.ID, 0)
    acks = Acks(None)  # type: ignore[arg-type]  # nothing is acknowledged before the end
    assert follow(run, 4, acks) == 8
    with pytest.raises(ValueError, match="expected 3"):
        follow(run, 3, acks)


def test_a_tiny_run_works_from_end_to_end(tmp_path: Path) -> None:
    path = tmp_path / "ring.json"
    command = [sys.executable, "-m", "benchmarks.ring", "--quick", "--messages", "20"]
    done = subprocess.run(
        [*command, "--seconds", "0.1", "--json", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "token_p50_us" in done.stdout
    metrics = json.loads(path.read_text())["metrics"]
    assert metrics["token_p50_us"] > 0
    assert metrics["batch_mtokens_per_s"] > 0
    assert metrics["recoveries"] == 0
