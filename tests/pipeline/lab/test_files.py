"""A run as files: JSON, JUnit XML, JSON lines, CSV."""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pipeline.errors import ConfigError
from pipeline.lab.export import COLUMNS, rows, to_csv, to_jsonl
from pipeline.lab.junit import to_junit
from pipeline.lab.run import About, Check, Comparison, Run, read_run, to_json
from tests.pipeline.lab.making import run_of, turn

MISSED = Check(
    key="q", kind="within_ms", warm=True, passed=False, text="too \x00 late <&>", phase="x"
)
MET = Check(key="q", kind="errors", warm=False, passed=True, text="1 of 1")


def judged(**more: object) -> Run:
    about = About(name="s", started="2026-01-31T09:30:00+01:00", seconds=12.34)
    return run_of(turn()).model_copy(update={"suite": about, "checks": [MET, MISSED], **more})


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(to_json(judged()))
    assert read_run(path) == judged()


def test_a_replay_of_clips_can_be_read_too(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(
        '{"voxring": "1", "turns": [{"clip": "a.wav", "repeat": 1, "outcome": "empty"}], "new": 1}'
    )
    run = read_run(path)
    assert (run.keys, run.passed) == (["a.wav"], True)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("{", "Invalid JSON"), ("{}", "voxring: Field required"), ("[]", "it: ")],
)
def test_what_is_no_run_is_told(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="is no baseline of voxring") as error:
        read_run(path, "baseline")
    assert complaint in str(error.value)
    with pytest.raises(ConfigError, match="there is no run"):
        read_run(tmp_path / "none.json")


def test_junit_has_a_case_for_each_check_and_each_comparison() -> None:
    slower = Comparison(
        key="", metric="first_audio_ms", pairs=20, ratio=1.3, lower=1.2, upper=1.4, delta_ms=90,
        regression=True, phase="first_sound", phase_delta_ms=80.0,
    )  # fmt: skip
    few = Comparison(key="q", metric="silent_ms", pairs=2)
    text = to_junit(judged(comparisons=[slower, few], interrupted="stage tts was killed"))
    suite = ET.fromstring(text).find("testsuite")
    assert suite is not None
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "5", "failures": "2", "errors": "1", "skipped": "1", "time": "12.3"}
    messages = [found.get("message") for found in suite.iter("failure")]
    assert messages[0] == "too � late <&>", "what XML cannot hold is replaced, the rest escaped"
    assert "1.30 times the baseline" in str(messages[1])
    assert "first_sound (tts: synthesising the first sound), +80 ms" in str(messages[1])
    assert suite.findall("testcase")[0].get("name") == "errors (cold)"


def test_exports_have_the_fields_names_and_a_row_for_each_turn() -> None:
    run = run_of(turn(ids_out=46, ids_dropped=[3, 4]), turn(repeat=2))
    lines = [json.loads(line) for line in to_jsonl(run).splitlines()]
    table = list(csv.DictReader(io.StringIO(to_csv(run))))
    assert len(lines) == len(table) == 2
    assert list(lines[0]) == list(table[0]) == list(COLUMNS)
    first = lines[0]
    assert first["end_to_end_latency_ms"] == 304.0
    assert first["time_to_first_token_ms"] == 211.0
    assert first["time_to_first_audio_ms"] == 295.0
    assert first["llm_time_to_first_token_ms"] == 41.0
    assert first["llm_first_words_ms"] == 29.0
    assert first["tts_time_to_first_byte_ms"] == 55.0
    assert first["time_per_output_token_ms"] == 9.91
    assert (first["output_tokens"], first["discarded_output_tokens"]) == (46, 7)
    assert table[1]["time_per_output_token_ms"] == "", "one id has no pace"


def test_what_does_not_count_is_empty_and_never_zero() -> None:
    phases = {"transcript": -500.0, "first_id": -400.0, "first_sound": -300.0, "release": -200.0}
    phases |= {"first_words": -350.0, "last_id": 300.0}
    cut = turn(ms=None, cut_off=True, phases=phases, ids_out=20)
    cancelled = turn(ms=None, outcome="interrupted", phases={"transcript": 170.0})
    for row in rows(run_of(cut, cancelled)):
        delays = [row[name] for name in COLUMNS if name.endswith("_ms")]
        assert delays == [None] * 10
        assert row["interruption_latency_ms"] is None


def test_words_with_separators_survive_csv() -> None:
    reply = 'a, "b"\nc;d'
    (row,) = csv.DictReader(io.StringIO(to_csv(run_of(turn(reply=reply)))))
    assert row["reply"] == reply
