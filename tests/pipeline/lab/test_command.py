"""Suites from the command line, on scripted stages."""

import json
import signal
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pipeline.commands import report
from pipeline.lab.run import to_json
from tests.pipeline.cli_running import SCRIPTED, TINY, Finished, start, voxring
from tests.pipeline.lab.making import run_of, turn
from tests.pipeline.running import tone

CLIP = '[[clip]]\nfile = "clip.wav"\nspeech_end_s = 0.3\n'
SLOW_ASR = "asr.options={lines = ['What time is it?'], delay_ms = 1200}"
LONGER = 'llm.options={replies = ["OK, it is time."], ids_per_s = 1000}'
ONCE = "cold = 0\nrepeats = 1\n"


def suite(folder: Path, text: str) -> Path:
    tone(folder / "clip.wav", 0.3)
    path = folder / "suite.toml"
    path.write_text(text)
    return path


def play(folder: Path, *arguments: str) -> Finished:
    return voxring("replay", "suite.toml", *SCRIPTED, "--set", TINY, *arguments, cwd=folder)


def complaints(finished: Finished) -> list[str]:
    assert "Traceback" not in finished.err, finished.err
    return [line for line in finished.err.splitlines() if line.startswith("error: ")]


def test_a_suite_that_is_met_leaves_all_its_files(tmp_path: Path) -> None:
    conversation = (
        '[[conversation]]\nname = "talk"\n'
        '[[conversation.turn]]\nfile = "clip.wav"\n'
        '[[conversation.turn]]\nname = "over"\nfile = "clip.wav"\nover_answer_ms = 200\n'
        "silent_within_ms = 2000\n"
    )
    asked = f'{CLIP}within_ms = 20_000\nexpect = ["OK"]\ntext = "What time is it?"\nmax_wer = 0.0\n'
    suite(tmp_path, f"cold = 1\nrepeats = 1\n{asked}{conversation}")
    files = {
        "--json": "run.json",
        "--jsonl": "run.jsonl",
        "--csv": "run.csv",
        "--junit": "run.xml",
        "--report": "run.html",
        "--save-baseline": "base.json",
    }
    finished = play(tmp_path, *(part for pair in files.items() for part in pair), "--set", LONGER)
    assert (finished.code, complaints(finished)) == (0, []), finished.err
    run = json.loads((tmp_path / "run.json").read_text())
    names = [(turn["key"], turn["warm"], turn["repeat"]) for turn in run["turns"]]
    assert names == [
        (key, warm, repeat)
        for warm, repeat in ((False, 1), (True, 1))
        for key in ("clip", "talk/clip", "talk/over")
    ]
    outcomes = {turn["key"]: turn["outcome"] for turn in run["turns"]}
    assert outcomes == {"clip": "answered", "talk/clip": "interrupted", "talk/over": "answered"}
    assert all(check["passed"] for check in run["checks"])
    assert len(run["suite"]["ready_s"]) == 1
    assert set(run["usage"]["cpu_percent"]) == {"voxring", "audio", "turn", "asr", "llm", "tts"}
    assert run["turns"][0]["wave"]["user"]
    assert ET.parse(tmp_path / "run.xml").getroot()[0].get("failures") == "0"
    assert len((tmp_path / "run.csv").read_text().splitlines()) == 7
    assert "<html" in (tmp_path / "run.html").read_text()
    assert not json.loads((tmp_path / "base.json").read_text())["conversations"]
    again = voxring("report", "run.json", "-o", "again.html", cwd=tmp_path)
    assert (again.code, again.out.strip()) == (0, "again.html")
    assert (tmp_path / "again.html").read_text() == (tmp_path / "run.html").read_text()


@pytest.mark.parametrize(
    ("slow", "phase"),
    [
        (SLOW_ASR, "transcript (asr"),
        ("llm.options={replies = ['OK.'], first_id_ms = 1200}", "first_id (llm"),
        ("tts.options={work_ms = 1200}", "first_sound (tts"),
        ("turn.release_ms=1500", "release (turn"),
    ],
)
def test_a_stage_that_is_slowed_makes_the_suite_fail_and_is_named(
    slow: str, phase: str, tmp_path: Path
) -> None:
    suite(tmp_path, f"{ONCE}{CLIP}within_ms = 30\n")
    finished = play(tmp_path, "--set", slow)
    assert finished.code == 1
    (line,) = complaints(finished)
    assert line.startswith("error: clip: within_ms: first audio: p95 of 1 is ")
    assert "expected within 30" in line
    assert phase in line


def test_a_slower_run_fails_against_its_baseline(tmp_path: Path) -> None:
    suite(tmp_path, f"cold = 0\nrepeats = 10\n{CLIP}")
    then = run_of(*(turn("clip", 304.0, repeat=n) for n in range(1, 11)))
    (tmp_path / "base.json").write_text(to_json(then))
    finished = play(tmp_path, "--baseline", "base.json", "--set", SLOW_ASR.replace("1200", "400"))
    assert finished.code == 1
    (line,) = complaints(finished)
    assert "times the baseline" in line
    assert "most of it is transcript (asr: recognising the words)" in line
    assert "note: the baseline is of another machine" in finished.err


@pytest.mark.parametrize(
    ("option", "watched", "opens"),
    [(None, True, True), (None, False, False), (False, True, False), (True, False, True)],
)
def test_a_report_is_opened_where_somebody_sits(
    option: bool | None, watched: bool, opens: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(report.webbrowser, "open", opened.append)
    monkeypatch.setattr(report, "_is_watched", lambda: watched)
    (tmp_path / "run.json").write_text(to_json(run_of(turn())))
    report.report_command(tmp_path / "run.json", None, option)
    assert opened == ([(tmp_path / "run.html").as_uri()] if opens else [])


def test_too_few_repeats_for_a_verdict_are_told(tmp_path: Path) -> None:
    suite(tmp_path, f"{ONCE}{CLIP}")
    (tmp_path / "base.json").write_text(to_json(run_of(turn("clip"))))
    finished = play(tmp_path, "--baseline", "base.json")
    assert (finished.code, complaints(finished)) == (0, []), finished.err
    assert "note: 1 of 1 comparisons with the baseline have no verdict" in finished.err
    assert "--repeat 10" in finished.err


def test_clips_alone_get_reports_too(tmp_path: Path) -> None:
    tone(tmp_path / "clip.wav", 0.4)
    arguments = ("--set", TINY, "--repeat", "1", "--report", "r.html", "--json", "r.json")
    finished = voxring("replay", "clip.wav", *SCRIPTED, *arguments, cwd=tmp_path)
    assert finished.code == 0, finished.err
    (played,) = json.loads((tmp_path / "r.json").read_text())["turns"]
    assert (played["key"], played["outcome"]) == ("clip", "answered")
    assert "clip" in (tmp_path / "r.html").read_text()


def test_what_was_played_before_an_interrupt_is_written(tmp_path: Path) -> None:
    suite(tmp_path, f"cold = 0\nrepeats = 100\n{CLIP}")
    arguments = ("replay", "suite.toml", *SCRIPTED, "--set", TINY, "--json", "r.json")
    with start(*arguments, "--junit", "r.xml", cwd=tmp_path) as started:
        assert started.process.stdout
        assert "clip 1 · answered" in started.process.stdout.readline()
        started.process.send_signal(signal.SIGINT)
        finished = started.finish()
    assert finished.code == 130
    assert complaints(finished) == ["error: the run is not complete: interrupted"]
    run = json.loads((tmp_path / "r.json").read_text())
    assert run["turns"]
    assert run["interrupted"] == "interrupted"
    assert ET.parse(tmp_path / "r.xml").getroot()[0].get("errors") == "1"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["suite.toml", "clip.wav"], "is a suite, and was named beside others"),
        (["suite.toml", "--out", "a"], "--out is for clips alone"),
        (["suite.toml", "--baseline", "none.json"], "there is no baseline none.json"),
        (["suite.toml", "--junit", "no/x.xml"], "no/x.xml cannot be written"),
        (["suite.toml", "--set", "audio.stage=client"], "a suite plays clips"),
        (["suite.toml", "--config", "none.toml"], "there is no configuration file none.toml"),
        (["bad.toml"], "bad.toml: unknown key clip.0.fil. Did you mean clip.0.file?"),
    ],
)
def test_mistakes_are_told_before_anything_starts(
    arguments: list[str], complaint: str, tmp_path: Path
) -> None:
    suite(tmp_path, CLIP)
    (tmp_path / "bad.toml").write_text('[[clip]]\nfil = "clip.wav"')
    config = () if "--config" in arguments else SCRIPTED
    finished = voxring("replay", *arguments, *config, cwd=tmp_path)
    assert finished.code == 2
    assert complaint in finished.complaint


def test_a_suite_names_its_own_configuration(tmp_path: Path) -> None:
    suite(tmp_path, f'config = "scripted"\nset = [{TINY!r}]\n{ONCE}{CLIP}expect = ["OK"]\n')
    finished = voxring("replay", "suite.toml", cwd=tmp_path)
    assert finished.code == 0, finished.err
    assert "passed: 3 checks" in finished.out
