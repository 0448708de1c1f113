"""Findings about a GPU from made-up profiles."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from pipeline.findings import Health
from pipeline.gpu_doctor import gpu_findings
from pipeline.llm_doctor import LOOKS
from stages.llm.gpu_profile import GpuProfile
from stages.llm.profiling import Profile
from tests.pipeline.test_llm_doctor import GOOD as CPU

GOOD = GpuProfile(
    name="a GPU",
    kind="llama",
    cold_ms=5.0,
    warm_ms=4.6,
    next_ms=4.0,
    gap_us=0.4,
    copied=0.0,
    read_bytes=15_000_000_000,
    copy_gb_s=4_280.0,
    allocations=0.0,
    clock_share=1.0,
    throttled="",
    others=0,
    has_ncu=False,
)


def health(**changed: Any) -> dict[str, Health]:
    return {found.what: found.health for found in gpu_findings(replace(GOOD, **changed))}


def test_a_healthy_gpu_has_nothing_bad() -> None:
    assert Health.BAD not in health().values()


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"kind": "plain: gemma is not one of llama"}, "steps of the GPU"),
        ({"cold_ms": 900.0}, "first id on the GPU, cold and warm"),
        ({"allocations": 80.0}, "memory that the GPU is asked for, per id"),
        ({"gap_us": 60.0}, "gap between two kernels"),
        ({"copied": 0.1}, "time in copies between host and GPU"),
        ({"next_ms": 20.0}, "weights read, of what the GPU's memory can give"),
        ({"clock_share": 0.3}, "clock of the GPU, of its highest"),
        ({"throttled": "heat"}, "clock held back"),
        ({"others": 2}, "other programs on the GPU"),
    ],
)
def test_each_fault_is_found_with_its_remedy(changed: dict[str, Any], what: str) -> None:
    bad = [f for f in gpu_findings(replace(GOOD, **changed)) if f.health is Health.BAD]
    assert [found.what for found in bad] == [what]
    assert bad[0].cause
    assert bad[0].remedy


def test_what_could_not_be_read_is_said() -> None:
    unread = health(gap_us=None, copied=None, clock_share=None, throttled=None, others=None)
    assert list(unread.values()).count(Health.UNREAD) == 6  # and the L2, which only ncu reads
    assert Health.BAD not in unread.values()


def test_a_gpu_speaks_for_itself_in_the_report() -> None:
    profile = replace(CPU, gpu=GOOD)
    assert Profile.parse(json.loads(json.dumps(asdict(profile)))) == profile
    seen = [found.what for look in LOOKS for found in look(profile)]
    assert "gap between two kernels" in seen
    assert "time of one id" not in seen
