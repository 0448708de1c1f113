"""A replay as people and programs read it, without running one."""

import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from pipeline.commands.app import FAILED, INTERRUPTED, MISTAKE, TERMINATED
from pipeline.errors import OutputError
from pipeline.events import ReplyText, TurnEnded, UserText
from pipeline.live_turn import LiveTurn
from pipeline.output import check_file
from pipeline.progress import StartProgress
from pipeline.replay import Answer, Question, answer_files
from pipeline.report import (
    as_json,
    labelled,
    render_summary,
    render_turn,
    summarize,
    write_json,
)
from pipeline.timeline import MILESTONES, Timeline
from pipeline.waterfall import EXPLAINED, Waterfall
from stages.event import Event
from stages.outcome import Outcome

MS = 1_000_000
SCHEMA = Path(__file__).parents[2] / "docs" / "replay.md"
QUESTION = Question(Path("clips/dog-or-cat.mp3"), 3.2, 2.5, "manifest")
REPLY = (
    "Dogs are loyal and outgoing while cats are independent, so it depends on how much time "
    "you have [each day]."
)
AT = {
    Event.SILENCE: 60,
    Event.SOFT_END: 100,
    Event.DECODE_START: 101,
    Event.FINAL: 222,
    Event.PREFILL: 1240,
    Event.FIRST_ID: 1260,
    Event.FIRST_WORDS: 1800,
    Event.FIRST_SOUND: 2345,
    Event.RELEASE: 600,
    Event.FIRST_AUDIO: 2360.26,
    Event.LAST_ID: 14_999,
    Event.PLAY_END: 123_456,
}


def answer(
    outcome: Outcome = Outcome.ANSWERED,
    at: dict[Event, float] | None = None,
    question: Question = QUESTION,
    faults: tuple[str, ...] = (),
    underruns: tuple[tuple[int, int], ...] = (),
    late: tuple[tuple[int, int], ...] = (),
    source: str = "clip",
) -> Answer:
    instants = {event: 10**12 + int(ms * MS) for event, ms in (AT if at is None else at).items()}
    timeline = Timeline(0, 1, 1, outcome, instants, {}, 10**12, source, underruns, late)
    ended = TurnEnded(timeline, "Is a dog a better pet than a cat?", REPLY, REPLY)
    return Answer(question, 1, ended, faults, Path("answers/dog-or-cat-1.wav"))


def waterfall(source: str) -> Waterfall:
    turn = answer().turn
    assert turn
    return Waterfall(turn.timeline.phases, source)


def shown(renderable: RenderableType, width: int, **options: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=width, **options).print(renderable)
    return out.getvalue()


def test_a_model_that_writes_escape_sequences_commands_no_terminal() -> None:
    assert "\x1b" not in shown(labelled("answer", "red\x1b[31m alert\x07"), 80)


# JSON


def fields(value: Any, path: str = "") -> set[str]:
    """Paths of all fields; those of maps whose keys are data are left out."""
    if path in ("turns[].phases", "machine.versions"):
        return set()
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        inner = [fields(v, f"{prefix}{k}") | {f"{prefix}{k}"} for k, v in value.items()]
        return set().union(*inner)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return set().union(*(fields(item, f"{path}[]") for item in value))
    return set()


def section(title: str) -> str:
    return SCHEMA.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def first_column(title: str) -> list[str]:
    return re.findall(r"^\| `?([^`|]+?)`? \|", section(title), re.MULTILINE)[1:]


def test_the_schema_page_names_exactly_the_fields_that_are_written() -> None:
    written = fields(as_json([answer(), Answer(QUESTION, 2, None)]))
    documented = [name for name in first_column("JSON") if not name.startswith("-")]
    assert sorted(documented) == sorted(written)


def test_the_schema_page_names_every_phase_outcome_and_exit_code() -> None:
    assert [name for name in first_column("Phases") if name != "---"] == list(MILESTONES)
    assert list(EXPLAINED) == list(MILESTONES)
    for outcome in Outcome:
        assert f"`{outcome.label}`" in section("JSON")
    codes = [name for name in first_column("Exit codes") if name != "---"]
    assert codes == [str(code) for code in (0, FAILED, MISTAKE, INTERRUPTED, TERMINATED)]


def test_a_turn_as_json() -> None:
    content = json.loads(json.dumps(as_json([answer()])))
    (turn,) = content["turns"]
    assert turn["clip"] == "dog-or-cat.mp3"
    assert turn["first_audio_ms"] == 2360.3
    assert list(turn["phases"].items())[:3] == [
        ("silence", 60.0),
        ("soft_end", 100.0),
        ("decode_start", 101.0),
    ]
    assert (turn["speech_end_source"], turn["wav"]) == ("manifest", "answers/dog-or-cat-1.wav")
    assert content["summary"] == {
        "first_audio_ms": {"p50": 2360.3, "p95": 2360.3, "max": 2360.3, "n": 1}
    }


def test_a_clip_without_a_turn_is_a_turn_without_speech() -> None:
    content = as_json([Answer(QUESTION, 1, None)])
    assert content["turns"][0]["outcome"] == "no speech"
    assert content["turns"][0]["phases"] == {}
    assert content["summary"]["first_audio_ms"] == {"p50": None, "p95": None, "max": None, "n": 0}


def test_the_detectors_estimate_is_marked() -> None:
    assert as_json([answer(source="vad")])["turns"][0]["speech_end_source"] == "vad"


def test_percentiles() -> None:
    assert summarize(range(1, 102)) == {"p50": 51.0, "p95": 96.0, "max": 101.0, "n": 101}


def test_json_is_checked_for_before_and_written_after(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    check_file(file, "--json")
    assert list(tmp_path.iterdir()) == [], "a check leaves nothing"
    write_json(file, [answer()])
    check_file(file, "--json")
    assert json.loads(file.read_text())["turns"]
    assert list(tmp_path.iterdir()) == [file]
    for bad in (tmp_path, tmp_path / "no" / "result.json", file / "result.json"):
        with pytest.raises(OutputError, match=f"{bad} cannot be written"):
            check_file(bad, "--json")
        with pytest.raises(OutputError, match=f"{bad} cannot be written"):
            write_json(bad, [answer()])


# On a terminal


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_nothing_is_cut_and_nothing_wraps_in_the_waterfall(width: int) -> None:
    lines = shown(waterfall("manifest"), width).splitlines()
    assert len(lines) == 2 + len(MILESTONES)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    for name, explanation in EXPLAINED.items():
        assert any(f" {name} " in line and line.endswith(explanation) for line in lines)


@pytest.mark.parametrize("width", [30, 40, 50, 60, 70])
def test_a_narrow_terminal_loses_bars_first_and_then_explanations(width: int) -> None:
    lines = shown(waterfall("vad"), width).splitlines()
    assert max(map(len, lines)) <= max(width, 33)
    assert any("first_audio     2360" in line for line in lines)
    assert any("FIRST AUDIO" in line for line in lines) is (width >= 60)


def test_numbers_are_aligned_and_first_audio_stands_out() -> None:
    text = shown(waterfall("energy"), 80)
    lines = text.splitlines()
    assert all(re.match(r"[ >] \w+ +-?\d+", line) for line in lines[1:])
    assert {line[16:23].strip().isdigit() for line in lines[1:]} == {True}
    assert [line for line in lines if line.startswith(">")] == [
        line for line in lines if "first_audio" in line
    ]
    coloured = shown(
        waterfall("energy"),
        80,
        force_terminal=True,
        color_system="standard",
    )
    assert re.search(r"\x1b\[1;32m> first_audio", coloured)


def test_bars_follow_each_other_within_their_column() -> None:
    text = shown(waterfall("energy"), 120)
    found = (re.search("█+", line) for line in text.splitlines())
    spans = [bar.span() for bar in found if bar]
    assert len(spans) == len(MILESTONES) - 2, "the last id and the end of play are out of scale"
    assert all(start < end <= 120 - 27 for start, end in spans)
    assert all(one[0] <= two[0] for one, two in pairwise(spans))


def test_times_before_the_end_of_speech_are_drawn_too() -> None:
    early = {Event.SILENCE: -300.0, Event.RELEASE: -100.0, Event.FIRST_AUDIO: -90.0}
    text = shown(render_turn(answer(at=early)), 80)
    assert "-300" in text
    assert "released before the user had finished" in text
    assert "first audio does not count: too early" in text


def test_a_turn_at_80_columns_has_every_word_whole() -> None:
    cut = Question(QUESTION.path, 3.2, 2.5, "energy", "the file is cut off: " + "so " * 40)
    fault = "tts: the voice was lost, " + "and lost again, " * 8
    underruns = ((10**12 + 2400 * MS, 307 * MS),)
    late = ((10**12 + 2700 * MS, 290 * MS),)
    text = shown(
        render_turn(answer(question=cut, faults=(fault,), underruns=underruns, late=late)), 80
    )
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    words = " ".join(text.split())
    for whole in (REPLY, cut.truncated.strip(), fault.strip(), "a gap of 307 ms at 2400 ms"):
        assert whole in words
    assert "the voice was 290 ms late at 2700 ms" in words
    assert "first audio does not count: a gap followed within a second" in words


def test_a_turn_without_words() -> None:
    text = shown(render_turn(Answer(QUESTION, 1, None, ("dog-or-cat.mp3 is [gone]",))), 80)
    assert text.splitlines()[0].startswith("dog-or-cat.mp3 · no speech")
    assert "is [gone]" in text, "what looks like markup is text"


def test_the_summary_has_a_row_for_each_clip_and_one_for_all() -> None:
    long = Question(Path("a" * 90 + ".wav"), 1.0, 0.5, "energy")
    same = Question(Path("other/dog-or-cat.mp3"), 1.0, 0.5, "energy")
    text = shown(render_summary([answer(), answer(question=long), answer(question=same)]), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "clips/dog-or-cat.mp3" in text
    assert "other/dog-or-cat.mp3" in text
    assert re.search(r"all +│ 2360 │ 2360 │ 2360 │ 3 │", text)
    assert "all" not in shown(render_summary([answer()]), 80).split("n ┃")[1]


def test_the_live_lines_follow_the_turn() -> None:
    now = 100.0
    live = LiveTurn(Console(file=io.StringIO()), repeat=3, now=lambda: now)
    live.begin(QUESTION, 2)
    now = 101.25
    assert "dog-or-cat.mp3 (2 of 3) · playing 1.2/3.2 s" in shown(live.render(), 80)
    live.take(UserText(1, "Is a dog [better]"))
    now = 104.0
    assert "waiting for an answer" in shown(live.render(), 80)
    live.take(ReplyText(1, 1, "It depends"))
    text = shown(live.render(), 80)
    for part in ("answering", "heard   Is a dog [better]", "answer  It depends"):
        assert part in text
    live.begin(QUESTION, 3)
    assert "depends" not in shown(live.render(), 80)
    live.end()


def test_progress_in_a_log_is_a_line_for_each_step_that_takes_time() -> None:
    out = io.StringIO()
    with StartProgress(Console(file=out, width=80)) as progress:
        for text, fraction in (("starting", None), ("loading [x]", 0.1), ("loading [x]", 0.9)):
            progress("asr", text, fraction)
        progress("asr", "ready", 1.0)
    assert out.getvalue() == "asr: loading [x]\n"


def test_progress_on_a_terminal_fits_80_columns() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, height=20, force_terminal=True)
    with StartProgress(console) as progress:
        progress("turn", "loading voice activity detection [x]", None)
        progress("models", "fetching smollm2-135m-instruct: 43 of 98 MB, and more words", 0.4)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue()).replace("\r", "\n").splitlines()
    assert any("detection [x]" in line for line in lines)
    assert max(map(len, lines)) <= 80


# Files


def test_answers_have_names_of_their_own(tmp_path: Path) -> None:
    clips = ["a/q.wav", "b/q.mp3", "other.wav"]
    questions = [Question(Path(clip), 1.0, None, "energy") for clip in clips]
    files = answer_files(questions, 2, tmp_path)
    assert [[file.name for file in group] for group in files] == [
        ["q.1-1.wav", "q.1-2.wav"],
        ["q.2-1.wav", "q.2-2.wav"],
        ["other-1.wav", "other-2.wav"],
    ]


def test_an_answer_that_would_replace_a_clip_is_refused(tmp_path: Path) -> None:
    questions = [Question(tmp_path / n, 1.0, None, "energy") for n in ("q.wav", "q-2.wav")]
    answer_files(questions, 1, tmp_path)
    with pytest.raises(OutputError, match=r"would replace the clip .*q-2\.wav"):
        answer_files(questions, 2, tmp_path)
