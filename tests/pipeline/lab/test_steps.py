"""Which step a late answer is blamed on."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.lab.steps import STAGES, critical_path, longest
from tests.pipeline.lab.making import PHASES


def took(phases: dict[str, float]) -> dict[str, float]:
    return {step.name: step.took_ms for step in critical_path(phases)}


SPOKEN = ("first_words", "first_sound", "first_audio")


def test_a_release_that_nothing_waited_for_is_no_step() -> None:
    assert took(PHASES) == {
        "silence": 60,
        "decode_start": 2,
        "soft_end": 30,
        "transcript": 78,
        "prefill": 40,
        "first_id": 1,
        "first_words": 29,
        "first_sound": 55,
        "first_audio": 9,
    }


def test_a_release_behind_the_sound_is_what_was_waited_for() -> None:
    late = PHASES | {"release": 1120.0, "first_audio": 1125.0}
    assert took(late)["release"] == 825
    assert took(late)["first_audio"] == 5


@pytest.mark.parametrize(
    ("name", "behind"),
    [
        ("transcript", ("transcript", "prefill", "first_id", *SPOKEN)),
        ("first_id", ("first_id", *SPOKEN)),
        ("first_words", SPOKEN),
        ("first_sound", SPOKEN[1:]),
        ("first_audio", SPOKEN[2:]),
    ],
)
def test_the_step_that_was_slowed_is_the_longest(name: str, behind: tuple[str, ...]) -> None:
    """Words that the voice waits for are the language model's time, not the voice's."""
    slowed = {n: at + 300 if n in behind else at for n, at in PHASES.items()}
    step = longest(critical_path(slowed))
    assert step
    assert (step.name, step.stage) == (name, STAGES[name])


def test_nothing_was_heard_so_nothing_took_time() -> None:
    assert critical_path({"silence": 60.0, "first_id": 100.0}) == []
    assert longest([]) is None


def test_an_early_silence_takes_no_negative_time() -> None:
    assert took(PHASES | {"silence": -40.0})["silence"] == 0


def test_a_cause_that_was_stamped_behind_its_effect_keeps_its_step() -> None:
    late = PHASES | {
        "first_id": 811.2,
        "first_words": 811.2,
        "first_sound": 811.1,
        "release": 252.0,
        "first_audio": 811.1,
    }
    assert took(late)["first_id"] == pytest.approx(601.1)
    assert took(late)["first_sound"] == 0.0


@given(st.dictionaries(st.sampled_from(list(STAGES)), st.floats(-500, 5000)))
def test_steps_leave_no_gap_and_end_with_first_audio(phases: dict[str, float]) -> None:
    steps = critical_path(phases)
    assert bool(steps) == ("first_audio" in phases)
    for one, other in pairwise(steps):
        assert other.start_ms == pytest.approx(one.start_ms + one.took_ms)
    assert all(step.took_ms >= 0 for step in steps)
    if steps:
        assert steps[-1].start_ms + steps[-1].took_ms == pytest.approx(phases["first_audio"])
