"""Rounds, cold and warm, and what is left of a run that breaks."""

from pathlib import Path

import pytest

from pipeline.errors import StageError
from pipeline.lab.laboratory import Laboratory
from pipeline.lab.run import About
from pipeline.lab.suite import Suite
from tests.pipeline.lab.skipping import FakeTarget, Script, run
from tests.pipeline.running import tone


def laboratory(folder: Path, target: FakeTarget, **suite: object) -> Laboratory:
    """Of two conversations, the second of which has repeats of its own."""
    tone(folder / "a.wav", 0.3)
    raw = {
        "clip": [{"file": "a.wav"}],
        "conversation": [{"name": "b", "repeats": 1, "turn": [{"file": "a.wav"}]}],
        **suite,
    }
    return Laboratory(Suite.model_validate(raw), folder, target, folder, About())


def played(lab: Laboratory) -> list[tuple[str, int, bool]]:
    return [(each.name, each.repeat, each.warm) for each in lab.result().conversations]


def test_cold_rounds_begin_with_a_start_and_warm_ones_take_turns(tmp_path: Path) -> None:
    target = FakeTarget(Script())
    lab = laboratory(tmp_path, target, cold=2, repeats=2)
    run(lab.run())
    once = ["start", "open", "open"]
    assert target.log == [*once, "stop", *once, *["open"] * 3, "stop"]
    assert played(lab) == [
        ("a", 1, False),
        ("b", 1, False),
        ("a", 2, False),
        ("b", 2, False),
        ("a", 1, True),
        ("b", 1, True),
        ("a", 2, True),
    ]
    assert len(lab.result().suite.ready_s) == 2


def test_without_cold_rounds_the_target_is_started_all_the_same(tmp_path: Path) -> None:
    target = FakeTarget(Script())
    lab = laboratory(tmp_path, target, cold=0, repeats=1)
    run(lab.run())
    assert target.log == ["start", "open", "open", "stop"]
    assert all(warm for _, _, warm in played(lab))


def test_what_was_played_before_a_stage_died_is_kept_and_the_target_ended(tmp_path: Path) -> None:
    target = FakeTarget(Script(), fails_at=2)
    lab = laboratory(tmp_path, target, cold=0, repeats=5)
    with pytest.raises(StageError):
        run(lab.run())
    assert target.log[-1] == "stop"
    result = lab.result(interrupted="stage tts has died")
    assert len(result.conversations) == 2
    assert not result.passed, "what is missing is not well"
