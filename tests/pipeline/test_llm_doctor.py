"""Findings about the language model from made-up profiles, and from a real one."""

import io
import re
import subprocess
import sys
from dataclasses import asdict, replace
from typing import Any

import pytest
from rich.console import Console

from pipeline.config import Config, LlmConfig
from pipeline.errors import StageError
from pipeline.llm_doctor import LOOKS, Finding, Health, fewer_bits, show, take_profile
from stages.llm.profiling import Profile, Step

STEP = Step(ms=28, cpu_ms=50, minor_faults=0, major_faults=0, preempted=0, grown=0, heap_grown=0)
GOOD = Profile(
    stage="onnx",
    device="cpu",
    threads=2,
    budget=3,
    cores=4,
    quota=None,
    load_s=1.0,
    first_ms=35,
    again_ms=34,
    steps=[STEP] * 8,
    read_bytes=540_000_000,
    read_gb_s=21.0,
    stolen=0.0,
    waiting=0.01,
    swapped_mib=0.0,
    clock_share=0.98,
)


def findings(**changed: Any) -> dict[str, Finding]:
    step = {name: changed.pop(name) for name in asdict(STEP) if name in changed}
    profile = replace(GOOD, steps=[replace(STEP, **step)] * 8, **changed)
    return {found.what: found for look in LOOKS for found in look(profile)}


def bad(**changed: Any) -> set[str]:
    return {what for what, found in findings(**changed).items() if found.health is Health.BAD}


def test_a_healthy_turn_has_nothing_bad() -> None:
    assert bad() == set()
    assert not any(found.cause or found.remedy for found in findings().values())


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"first_ms": 90}, "first id of the first turn, of the second"),
        ({"ms": 120, "cpu_ms": 240, "read_bytes": 2_400_000_000}, "time of one id"),
        ({"read_gb_s": 60.0}, "weights read, of what the memory can give"),
        ({"budget": 5}, "threads of the model and the voice, which work together"),
        ({"cpu_ms": 20}, "cores that an id keeps busy"),
        ({"preempted": 4}, "times an id's threads lost their core"),
        ({"waiting": 0.5}, "time in which some program waited for a core"),
        ({"stolen": 0.1}, "time that the host gave to other machines"),
        ({"clock_share": 0.5}, "clock missing of the highest"),
        ({"minor_faults": 100}, "pages touched for the first time"),
        ({"major_faults": 1}, "pages read from the disk"),
        ({"swapped_mib": 30.0}, "swapped out"),
        ({"grown": 20}, "Python blocks that an id leaves"),
        ({"heap_grown": 4096}, "heap that an id leaves"),
    ],
)
def test_each_trouble_is_found_alone_with_cause_and_remedy(
    changed: dict[str, Any], what: str
) -> None:
    assert bad(**changed) == {what}
    found = findings(**changed)[what]
    assert found.cause
    assert found.remedy


def test_short_memory_has_its_row_in_the_documentation() -> None:
    found = findings(major_faults=1, swapped_mib=30.0)
    for what in ("pages read from the disk", "swapped out"):
        assert found[what].row == "memory-short"


SICK: dict[str, Any] = {
    "first_ms": 900,
    "ms": 120,
    "cpu_ms": 20,
    "read_bytes": 2_400_000_000,
    "read_gb_s": 60.0,
    "threads": 8,
    "budget": 9,
    "preempted": 4,
    "waiting": 0.5,
    "stolen": 0.1,
    "clock_share": 0.5,
    "minor_faults": 100,
    "major_faults": 1,
    "swapped_mib": 30.0,
    "grown": 20,
    "heap_grown": 4096,
}


@pytest.mark.parametrize("stage", ["onnx", "transformers", "mine:Engine"])
def test_a_remedy_names_switches_that_are_there_and_count_for_the_stage(stage: str) -> None:
    everything = findings(stage=stage, **SICK).values()
    assert sum(found.health is Health.BAD for found in everything) == 15
    for found in everything:
        for section, key in re.findall(r"\b(pipeline|llm|tts|asr)\.(\w+)", found.remedy):
            assert hasattr(getattr(Config(), section), key), found.remedy
        if stage != "onnx" and "llm.quantization" in found.remedy:
            assert "Set llm.stage to 'onnx' and llm.quantization" in found.remedy
    assert fewer_bits(replace(GOOD, stage="transformers", device="cuda")) == (
        "Choose a smaller model"
    )


def test_a_control_group_with_fewer_cores_is_seen() -> None:
    wrong = bad(threads=4, budget=4, quota=1.5, cpu_ms=40)
    assert "threads of the model, cores" in wrong
    assert "Set llm.threads to 1 or less" in str(
        findings(threads=4, quota=1.5)["threads of the model, cores"]
    )


@pytest.mark.parametrize("name", ["stolen", "waiting", "clock_share", "swapped_mib", "read_bytes"])
def test_what_cannot_be_read_is_said(name: str) -> None:
    unread = [f for f in findings(**{name: None}).values() if f.health is Health.UNREAD]
    assert len(unread) == 1
    assert unread[0].seen
    assert bad(**{name: None}) == set()


def test_a_profile_survives_its_pipe() -> None:
    assert Profile.parse(asdict(GOOD)) == GOOD


def test_the_report_shows_causes() -> None:
    text = io.StringIO()
    show(Console(file=text, width=100), list(findings(preempted=9).values()))
    assert "other programs want the same cores" in text.getvalue()


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        (LlmConfig(device="cuda", threads=1), "computes in float32 on the CPU"),
        (LlmConfig(stage="scripted", threads=1), "no model to look at"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_one_line(section: LlmConfig, reason: str) -> None:
    with pytest.raises(StageError, match=reason):
        take_profile(Config(llm=section))


def test_doctor_looks_at_one_thing() -> None:
    command = [sys.executable, "-m", "pipeline", "doctor", "--llm", "--arena", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Give --arena PID, --llm, or neither" in done.stderr
