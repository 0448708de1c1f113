"""The faults drill: what counts as good, and one case of it for real."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import drill, wall_clock
from benchmarks.drill import Case
from benchmarks.drill_faults import CLOCK, DISK, IDLE, KINDS, PHASES, RINGS, SLOW, SPEAKING
from stages.topology import CONTROL, STAGES

MAY = ("failed", "answered")
NEXT = ("answered", "answered")
GOOD = Case("kill -9", "asr", "speaking", "failed", MAY, "failed", MAY, 0.1, 0.4, NEXT)


def test_a_case_is_good_only_if_all_of_it_is() -> None:
    assert GOOD.good
    for wrong in (
        replace(GOOD, turn="answered"),
        replace(GOOD, beside=("failed", "timed out")),
        replace(GOOD, beside=()),
        replace(GOOD, following=("answered", "failed")),
        replace(GOOD, following=()),
        replace(GOOD, back_s=drill.BACK_S + 1),
        replace(GOOD, trouble="1 descriptors left"),
    ):
        assert not wrong.good
        assert "WRONG" in wrong.verdict


def test_every_stage_is_slowed_in_every_phase_and_so_is_the_client() -> None:
    cases = {(target, phase) for _, target, phase in drill.plan([SLOW], quick=False)}
    assert cases == {(target, phase) for target in (*STAGES, CONTROL) for phase in PHASES}


def test_every_ring_of_a_turn_is_filled() -> None:
    filled = {kind.does.split()[0] for kind in KINDS[RINGS]}
    assert filled == {"mic", "speech", "heard", "reply", "voice"}


def test_the_table_has_a_row_for_each_case() -> None:
    console = Console(width=110, record=True, file=Path(os.devnull).open("w"))  # noqa: SIM115
    with console.file:
        console.print(drill.render([GOOD, replace(GOOD, turn="answered")], drill.describe()))
    text = console.export_text()
    assert (text.count("kill -9"), text.count("WRONG")) == (2, 1)
    assert "1 of 2 cases good" in text
    assert f"{os.cpu_count()} cores" in text


def test_a_full_disk_costs_the_recording_and_nothing_else(tmp_path: Path) -> None:
    recording = KINDS[DISK][1]
    case = drill.run_case(recording, "audio", SPEAKING, tmp_path)
    assert case.good, case


def test_without_a_clock_that_jumps_its_cases_are_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(wall_clock.FILE, "")
    case = drill.run_case(KINDS[CLOCK][0], "all", IDLE, tmp_path)
    assert case.is_skipped
    assert not case.good


def test_the_wall_clock_jumps_for_a_program_and_the_monotonic_one_does_not(tmp_path: Path) -> None:
    try:
        environment = wall_clock.build(tmp_path)
    except RuntimeError as error:
        pytest.skip(str(error))
    code = (
        "import time; from benchmarks import wall_clock as w\n"
        "a, m = time.time(), time.monotonic(); w.jump(3600); w.jump(60)\n"
        "print(time.time() - a, time.monotonic() - m, time.time_ns() / 1e9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=drill.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wall, monotonic, now = map(float, done.stdout.split())
    assert 3660 <= wall < 3670
    assert 0 <= monotonic < 10
    assert now > time.time() + 3600
