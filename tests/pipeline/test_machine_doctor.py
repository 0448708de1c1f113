"""Findings about a machine from made-up facts, and the page that they link to."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import facts, llm_doctor, machine_doctor
from pipeline.config import Config, load_config
from pipeline.facts import Facts, gather
from pipeline.findings import PAGE, Finding, Health
from tests.pipeline import test_gpu_doctor, test_llm_doctor

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
ANCHORS = re.findall(r'<a id="([a-z-]+)"></a>', TEXT)
COLUMNS = "| symptom | likely cause | check | remedy |"

GOOD = Facts(
    cores=4,
    quota=None,
    threads={"audio": 1, "turn": 1, "asr": 2, "llm": 3, "tts": 1},
    waiting=0.01,
    stolen=0.0,
    clock_share=0.97,
    throttled=0,
    pinning={},
    memory_left=8 << 30,
    lane_bytes=4 << 20,
    lanes=4,
    open_files=1024,
    file_bytes=None,
    missing={},
    sound="",
    foreign=(),
    versions={},
    folders={},
    gpu_programs=0,
)


def findings(seen: Facts) -> list[Finding]:
    return [finding for look in machine_doctor.LOOKS for finding in look(seen)]


def bad(seen: Facts) -> list[str]:
    return [finding.row for finding in findings(seen) if finding.health is Health.BAD]


def test_a_good_machine_has_nothing_bad_and_nothing_unread() -> None:
    assert {finding.health for finding in findings(GOOD)} == {Health.GOOD}


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ({"threads": {**GOOD.threads, "llm": 4}}, "oversubscribed-cores"),
        ({"quota": 1.5}, "container-cores"),
        ({"pinning": {"OMP_PROC_BIND": "true"}}, "thread-settings"),
        ({"waiting": 0.4}, "latency-jumps"),
        ({"stolen": 0.1}, "latency-jumps"),
        ({"clock_share": 0.5}, "throttling"),
        ({"throttled": 3}, "throttling"),
        ({"memory_left": 16 << 20}, "shared-memory"),
        ({"file_bytes": 1 << 20}, "shared-memory"),
        ({"open_files": 64}, "open-files"),
        ({"missing": {"asr.model": "bundle:whisper-tiny.en"}}, "no-models"),
        ({"foreign": ("stages (installed by theatre)",)}, "foreign-packages"),
        ({"versions": {"tts": "0.0.9"}}, "other-version"),
        ({"sound": "Error querying device -1"}, "no-device"),
        ({"folders": {"audio.record": "/full cannot be written"}}, "disk-full"),
        ({"gpu_programs": 2}, "gpu-shared"),
    ],
)
def test_what_is_wrong_is_found_with_its_row_and_a_remedy(
    change: dict[str, object], row: str
) -> None:
    seen = replace(GOOD, **change)  # type: ignore[arg-type]
    assert row in bad(seen)
    wrong = [finding for finding in findings(seen) if finding.health is Health.BAD]
    assert all(finding.cause and finding.remedy and finding.link for finding in wrong)


def test_what_cannot_be_read_is_said_so() -> None:
    names = ("waiting", "stolen", "clock_share", "throttled", "memory_left", "sound")
    seen = replace(GOOD, **dict.fromkeys(names), gpu_programs=None)
    unread = [finding for finding in findings(seen) if finding.health is Health.UNREAD]
    assert (len(unread), bad(seen)) == (len(names), [])


def test_one_core_may_be_shared_by_the_model_and_the_voice() -> None:
    threads = {"audio": 1, "turn": 1, "asr": 1, "llm": 1, "tts": 1}
    assert bad(replace(GOOD, cores=1, threads=threads)) == []


def every_finding() -> list[Finding]:
    profiles = [test_llm_doctor.GOOD, replace(test_llm_doctor.GOOD, gpu=test_gpu_doctor.GOOD)]
    of_models = [f for profile in profiles for look in llm_doctor.LOOKS for f in look(profile)]
    return [*findings(GOOD), *of_models]


def test_every_link_leads_to_a_row() -> None:
    rows = {finding.row for finding in every_finding() if finding.row}
    assert len(rows) >= 12
    assert rows <= set(ANCHORS)
    assert len(ANCHORS) == len(set(ANCHORS))


def test_the_page_has_rows_of_four_cells() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith('| <a id="')]
    assert len(rows) == len(ANCHORS) >= 15
    for row in rows:
        cells = re.split(r"(?<!\\)\|", row.strip("| "))
        assert len(cells) == 4, row
        assert all(cell.strip() for cell in cells)
    assert TEXT.count(COLUMNS) == TEXT.count("\n## ")


def test_the_settings_that_the_page_names_exist() -> None:
    known = Config().model_dump()
    for section, key in re.findall(r"`(audio|turn|asr|llm|tts|pipeline)\.(\w+)", TEXT):
        assert key in known[section], f"{section}.{key}"


def test_this_machine_can_be_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_PROC_BIND", "true")
    monkeypatch.setattr(facts, "LOOK_S", 0.05)
    config = load_config(None, ['tts.python="/no/such/python"', "asr.model=org/not-here"])
    seen = gather(config)
    assert seen.cores >= 1
    assert seen.lane_bytes > 1 << 20
    assert str(tmp_path / "stages") in seen.foreign
    assert seen.pinning == {"OMP_PROC_BIND": "true"}
    assert "asr.model" in seen.missing
    assert "cannot be started" in seen.versions["tts"]


def test_the_command_says_what_it_found_and_where_to_read_on(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "doctor", "--set", "llm.threads=99"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    assert "docs/troubleshooting.md#oversubscribed-cores" in done.stdout
