"""What is said of an expectation that was missed."""

import math
from pathlib import Path

import pytest

from pipeline.lab.run import Check, Turn
from pipeline.lab.suite import Suite, suite_of
from pipeline.lab.verdict import expected_outcome, judge, nearest_rank
from tests.pipeline.lab.making import PHASES, run_of, turn


def checks(turns: list[Turn], before: list[Turn] | None = None, **say: object) -> dict[str, Check]:
    suite = Suite.model_validate({"clip": [{"file": "q.wav", **say}]})
    baseline = run_of(*before) if before else None
    return {check.kind: check for check in judge(suite, run_of(*turns), baseline)}


def slowed(name: str, ms: float, count: int = 3) -> list[Turn]:
    """Turns in which all from one phase on comes later."""
    order = sorted(PHASES, key=lambda each: PHASES[each])
    behind = set(order[order.index(name) :]) - {"release"}
    phases = {n: at + ms if n in behind else at for n, at in PHASES.items()}
    return [turn(ms=304 + ms, repeat=n, phases=phases) for n in range(count)]


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("transcript", "asr"),
        ("prefill", "llm"),
        ("first_id", "llm"),
        ("first_words", "llm"),
        ("first_sound", "tts"),
    ],
)
def test_a_bound_that_is_missed_names_the_step_that_took_the_time(name: str, stage: str) -> None:
    check = checks(slowed(name, 500), within_ms=400)["within_ms"]
    assert not check.passed
    assert check.phase == name
    assert "first audio: p95 of 3 is 804 ms, expected within 400" in check.text
    assert f"{name} ({stage}: " in check.text


def test_with_a_baseline_it_is_the_step_that_grew() -> None:
    usual = slowed("transcript", 500)
    now = [
        turn(ms=950, phases=dict(each.phases) | {"first_sound": 941.0, "first_audio": 950.0})
        for each in usual
    ]
    assert checks(now, within_ms=900)["within_ms"].phase == "transcript", "the longest"
    check = checks(now, usual, within_ms=900)["within_ms"]
    assert check.phase == "first_sound"
    assert "146 ms more than in the baseline" in check.text


def test_a_bound_that_is_met() -> None:
    check = checks([turn(ms=300), turn(ms=310, repeat=2)], within_ms=310)["within_ms"]
    assert (check.passed, check.phase) == (True, "")
    assert check.text == "first audio: p95 of 2 is 310 ms, within 310"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (turn(ms=None, cut_off=True), "released before the user had finished"),
        (turn(ms=None, outcome="failed", phases={}), "failed"),
        (turn(ms=None, underruns_ms=[80.0], voice_late_ms=[200.0]), "(tts: the voice was late)"),
        (turn(ms=None, underruns_ms=[80.0], voice_late_ms=[2.0]), "(llm: words were missing)"),
        (turn(ms=None, underruns_ms=[80.0]), "(llm: words were missing)"),
        (turn(ms=None, underruns_ms=[80.0], voice_late_ms=None), "a gap followed within a second"),
    ],
)
def test_a_turn_without_a_latency_meets_no_bound(bad: Turn, why: str) -> None:
    check = checks([turn(), bad], within_ms=10_000)["within_ms"]
    assert not check.passed
    assert "first audio does not count in 1 of 2: " in check.text
    assert why in check.text
    assert check.phase == ("first_sound" if "tts" in why else "first_words" if "llm" in why else "")


def test_cold_turns_are_held_against_a_bound_of_their_own() -> None:
    suite = Suite.model_validate(
        {"clip": [{"file": "q.wav", "within_ms": 400, "cold_within_ms": 2000}]}
    )
    run = run_of(turn(ms=1500, warm=False), turn(ms=300))
    told = [check for check in judge(suite, run) if check.kind.endswith("within_ms")]
    assert [(check.kind, check.warm, check.passed) for check in told] == [
        ("cold_within_ms", False, True),
        ("within_ms", True, True),
    ]


def test_words_of_the_reply() -> None:
    said = checks(
        [turn(), turn(reply="No idea")], expect=["water|rain"], forbid=["idea"], match="^P"
    )
    assert said["expect"].text == "1 of 2: \"water|rain\" is not in 'No idea'"
    assert said["forbid"].text == "1 of 2: \"idea\" is in 'No idea'"
    assert said["match"].text == "1 of 2: '^P' is not in 'No idea'"
    assert (
        checks([turn(reply="")], expect=["x"])["expect"].text
        == '1 of 1: "x" is not in an empty reply'
    )
    assert checks([turn()], expect=["plants", "water"])["expect"].passed


def test_the_outcome_and_errors() -> None:
    said = checks([turn(), turn(outcome="timed out", errors=["stage llm was killed"])])
    assert said["outcome"].text == "1 of 2: timed out, expected answered"
    assert said["errors"].text == "1 of 2: stage llm was killed"
    assert checks([turn(outcome="no speech")], outcome="no speech")["outcome"].passed


def test_word_errors_are_counted_over_all_repeats() -> None:
    turns = [turn(word_errors=2, words=4), turn(word_errors=0, words=4, repeat=2)]
    assert checks(turns, max_wer=0.25)["max_wer"].passed
    assert (
        checks(turns, max_wer=0.2)["max_wer"].text == "word error rate 0.250, expected at most 0.2"
    )
    assert "give it a text" in checks([turn()], max_wer=0.2)["max_wer"].text


@pytest.mark.parametrize(("wrong", "passed"), [(0, True), (2, False)])
def test_words_that_were_invented_in_silence(wrong: int, passed: bool) -> None:
    silent = turn(outcome="no speech", word_errors=wrong, words=0)
    said = checks([silent], max_wer=0.1, outcome="no speech")["max_wer"]
    assert (said.passed, said.text) == (passed, f"{wrong} words were heard in a clip of none")


def conversation(*says: dict[str, object]) -> Suite:
    turns = [{"file": f"{n}.wav", "name": f"{n}", **say} for n, say in enumerate(says)]
    return Suite.model_validate({"conversation": [{"name": "c", "turn": turns}]})


def test_an_answer_that_is_talked_over_is_to_be_interrupted() -> None:
    over: dict[str, object] = {"over_answer_ms": 500}
    (talk,) = conversation({}, over, {"over_answer_ms": 5, "goes_on": True}, {}).conversations
    assert [expected_outcome(talk, n) for n in range(4)] == [
        "interrupted",
        "answered",
        "",
        "answered",
    ]
    (murmured,) = conversation({}, {"over_answer_ms": 5, "goes_on": True}, over).conversations
    assert expected_outcome(murmured, 0) == "interrupted", "by what follows the murmur"


def test_interruptions() -> None:
    suite = conversation({}, {"over_answer_ms": 500, "silent_within_ms": 200})

    def told(**over: object) -> dict[str, Check]:
        turns = [turn("c/0", outcome="interrupted"), turn("c/1", **over)]  # type: ignore[arg-type]
        return {check.kind: check for check in judge(suite, run_of(*turns)) if check.key == "c/1"}

    cut = {"over_answer_ms": 510.0, "interrupted": True}
    assert told(**cut, silent_ms=150.0)["silent_within_ms"].passed
    assert "is 350 ms, expected within 200" in told(**cut, silent_ms=350.0)["silent_within_ms"].text
    assert not told()["over_answer_ms"].passed
    assert not told()["silent_within_ms"].passed
    assert told(**cut)["silent_within_ms"].text == "the answer was silent already"
    spoken_on = told(over_answer_ms=510.0, interrupted=False)["silent_within_ms"]
    assert (spoken_on.passed, spoken_on.text) == (False, "the answer was not interrupted in 1 of 1")


def test_only_warm_turns_are_held_against_the_time_until_silence() -> None:
    suite = conversation({}, {"over_answer_ms": 500, "silent_within_ms": 200})
    cold = turn("c/1", warm=False, over_answer_ms=510.0, interrupted=True, silent_ms=900.0)
    warm = turn("c/1", over_answer_ms=510.0, interrupted=True, silent_ms=150.0)
    told = [check for check in judge(suite, run_of(cold, warm)) if check.kind == "silent_within_ms"]
    assert [(check.warm, check.passed) for check in told] == [(True, True)]


@pytest.mark.parametrize(
    ("outcome", "passed"),
    [("answered", True), ("no speech", True), ("empty", True), ("failed", False)],
)
def test_clips_without_expectations_may_end_as_they_do(outcome: str, passed: bool) -> None:
    """`voxring replay silence.wav` failed as soon as a report was asked for."""
    suite = suite_of([Path("q.wav")], repeats=1, cold=0)
    told = judge(suite, run_of(turn(ms=None, outcome=outcome)))
    assert {check.kind: check.passed for check in told} == {"errors": True, "outcome": passed}


@pytest.mark.parametrize("goes_on", [True, False, None])
def test_murmurs(goes_on: bool | None) -> None:
    everything = {"expect": ["x"], "within_ms": 5, "max_wer": 0.0}  # such as [defaults] give it
    suite = conversation({}, {"over_answer_ms": 500, "goes_on": True, **everything})
    run = run_of(turn("c/0"), turn("c/1", outcome="no speech", over_answer_ms=1.0, goes_on=goes_on))
    mine = {check.kind: check.passed for check in judge(suite, run) if check.key == "c/1"}
    assert mine == {"errors": True, "over_answer_ms": True, "goes_on": bool(goes_on)}


@pytest.mark.parametrize(
    ("percent", "value"), [(50, 2.0), (95, 4.0), (100, 4.0), (25, 1.0), (1, 1.0)]
)
def test_the_nearest_rank(percent: float, value: float) -> None:
    assert nearest_rank([4.0, 1.0, 3.0, 2.0], percent) == value
    assert nearest_rank([], percent) == math.inf
