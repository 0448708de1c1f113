"""Noise is no regression, a real one is."""

import numpy as np
import pytest

from pipeline.lab.baseline import (
    FEWEST,
    bounds,
    compare,
    fewer_by_chance,
    is_regression,
    pair,
    pulled_in,
)
from pipeline.lab.tell import comparison_text
from tests.pipeline.lab.making import run_of, turn

TRIES = 30


def noisy(seed: int, count: int, factor: float = 1.0, spread: float = 0.05) -> list[float]:
    """First audio of a turn as machines have it: spread, and now and then a hiccup."""
    random = np.random.default_rng(seed)
    values = 400 * factor * np.exp(random.normal(0, spread, count))
    return list(values + np.where(random.random(count) < 0.05, random.exponential(200, count), 0))


def found(before: list[float], after: list[float]) -> bool:
    runs = [run_of(*(turn(ms=ms, repeat=n) for n, ms in enumerate(r))) for r in (before, after)]
    return any(each.regression for each in compare(*runs))


@pytest.mark.parametrize("count", [10, 20])
@pytest.mark.parametrize("spread", [0.03, 0.1])
def test_noise_is_never_called_a_regression(count: int, spread: float) -> None:
    pairs = [
        (noisy(2 * n, count, 1, spread), noisy(2 * n + 1, count, 1, spread)) for n in range(TRIES)
    ]
    assert not any(found(*each) for each in pairs)


@pytest.mark.parametrize(("turns", "repeats"), [(12, 1), (6, 2), (4, 5)])
def test_many_turns_of_few_repeats_have_no_verdict_together(turns: int, repeats: int) -> None:
    """Resampled within turns of one pair each, any noise was sure."""
    for seed in range(TRIES):
        values = [noisy(2 * seed + n, turns * repeats) for n in range(2)]
        values[1] = [ms * 1.15 for ms in values[1]]
        before, after = (
            run_of(*(turn(f"{n % turns}", ms, n // turns) for n, ms in enumerate(run)))
            for run in values
        )
        assert all(each.ratio is None for each in compare(before, after))


def test_four_per_cent_slower_is_not_called_one_either() -> None:
    assert not any(found(noisy(2 * n, 20), noisy(2 * n + 1, 20, 1.04)) for n in range(TRIES))


def test_a_real_fifteen_per_cent_is_found() -> None:
    tries = [
        found(noisy(2 * n, 20, 1, 0.02), noisy(2 * n + 1, 20, 1.15, 0.02)) for n in range(TRIES)
    ]
    assert np.mean(tries) > 0.9


def test_a_real_third_is_found_in_ten_repeats_of_a_noisy_machine() -> None:
    tries = [found(noisy(2 * n, 10), noisy(2 * n + 1, 10, 1.35)) for n in range(TRIES)]
    assert np.mean(tries) > 0.9


def test_faster_is_no_regression() -> None:
    assert not found(noisy(1, 20), noisy(2, 20, 0.5))


def test_what_nobody_could_notice_is_none() -> None:
    assert not found([40.0, 41] * 5, [48.0, 49] * 5), "8 ms, 20 %"
    assert found([40.0, 41] * 5, [58.0, 59] * 5)
    assert not is_regression(1.2, 9.9)
    assert not is_regression(1.10, 50)
    assert is_regression(1.1001, 10)


def test_one_hiccup_is_no_regression_and_hides_none() -> None:
    steady = [400.0 + n for n in range(10)]
    hiccup = [*steady[:-1], 2000.0]
    assert not found(steady, hiccup)
    assert found(steady, [ms * 1.3 for ms in steady[:-1]] + [350.0])


def test_too_few_pairs_give_no_verdict() -> None:
    few = [
        run_of(*(turn(ms=ms * f, repeat=n) for n, ms in enumerate([400.0] * (FEWEST - 1))))
        for f in (1, 3)
    ]
    (told,) = compare(*few)
    assert (told.pairs, told.ratio, told.regression) == (FEWEST - 1, None, False)


def test_pairs_are_the_same_repeat_of_the_same_turn_and_warm() -> None:
    before = [turn(ms=100, repeat=1), turn(ms=200, repeat=2), turn(ms=999, repeat=1, warm=False)]
    after = [turn(ms=300, repeat=2), turn(ms=None, repeat=1), turn(ms=400, repeat=3)]
    assert pair(before, after, "first_audio_ms") == [(200, 300)]


def test_cut_off_and_cancelled_turns_are_in_no_pair() -> None:
    cut = turn(ms=None, repeat=1, cut_off=True, phases={"release": -300.0})
    assert pair([cut], [turn(repeat=1)], "first_audio_ms") == []


def test_the_same_pairs_give_the_same_bounds() -> None:
    pairs = [list(zip(noisy(1, 10), noisy(2, 10), strict=True))]
    assert bounds(pairs) == bounds(pairs)


def test_bounds_hold_the_ratio_between_them() -> None:
    ratio, lower, upper = bounds([list(zip(noisy(3, 12), noisy(4, 12, 1.2), strict=True))])
    assert lower < ratio < upper
    assert ratio == pytest.approx(1.2, rel=0.1)


def test_all_turns_together_come_last_and_name_the_step_that_grew() -> None:
    ms = [400.0, 402, 404, 401, 403] * 2
    before = run_of(*(turn(k, m, n) for k in "ab" for n, m in enumerate(ms)))
    after = run_of(*(turn(k, m + 200, n) for k in "ab" for n, m in enumerate(ms)))
    told = compare(before, after)
    assert [each.key for each in told] == ["a", "b", ""]
    assert {each.phase for each in told} == {"first_sound"}
    assert {each.phase_delta_ms for each in told} == {200.0}
    assert all(each.regression for each in told)


def test_a_baseline_of_other_turns_is_told_and_no_verdict() -> None:
    told = compare(run_of(turn("a")), run_of(turn("b")))
    assert [(each.key, each.pairs, each.regression) for each in told] == [
        ("b", 0, False),
        ("a", 0, False),
    ]
    assert comparison_text(told[0]) == (
        "b: first audio: 0 pairs with the baseline, 10 are needed for a verdict"
    )
    (nothing,) = compare(run_of(), run_of())
    assert comparison_text(nothing).startswith("all turns: first audio: 0 pairs")


def test_a_turn_that_only_one_of_the_runs_has_is_told() -> None:
    """It was left out, and the page said that nothing had become slower."""
    both = [turn("a", repeat=n) for n in range(12)]
    before = run_of(*both, *(turn("old", repeat=n) for n in range(12)))
    after = run_of(*both, *(turn("new", repeat=n) for n in range(12)))
    assert {each.key: each.pairs for each in compare(before, after)} == {
        "a": 12,
        "new": 0,
        "old": 0,
    }


def test_what_lies_far_out_is_pulled_in_and_nothing_else() -> None:
    values = np.array([0.0, 0.1, 0.2, 0.3, 9.0])
    near = pulled_in(values)
    assert near[:4].tolist() == values[:4].tolist()
    assert near[4] == pytest.approx(0.2 + 3 * 1.4826 * 0.1)
    same = np.array([0.1, 0.1, 0.1, 0.15])
    assert pulled_in(same).tolist() == same.tolist(), "values that agree make no other an outlier"


def test_answers_that_no_longer_count_are_a_regression_and_not_just_missing() -> None:
    gaps: dict[str, object] = {"underruns_ms": [80.0], "voice_late_ms": [300.0]}
    before = run_of(*(turn(repeat=n) for n in range(12)))
    after = run_of(*(turn(ms=None, repeat=n, **gaps) for n in range(12)))  # type: ignore[arg-type]
    (told,) = compare(before, after)
    assert (told.metric, told.regression, told.phase) == ("counted", True, "first_sound")
    few = run_of(*(turn(ms=None if n < 2 else 304.0, repeat=n) for n in range(12)))
    assert not any(each.regression for each in compare(before, few)), "two in twelve may be chance"


@pytest.mark.parametrize(
    ("then", "now", "chance"),
    [
        ((12, 12), (0, 12), 3.7e-7),
        ((12, 12), (12, 12), 1.0),
        ((1, 1), (0, 1), 0.5),
        ((0, 5), (0, 5), 1),
    ],
)
def test_the_exact_test(then: tuple[int, int], now: tuple[int, int], chance: float) -> None:
    assert fewer_by_chance(then, now) == pytest.approx(chance, rel=0.01)
