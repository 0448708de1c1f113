"""A line through what a long run shows: it finds growth, and does not see it in noise."""

import numpy as np
import pytest

from benchmarks.trend import Trend, trend

FAR = np.arange(1000.0)


def pairs(values: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(FAR.tolist(), values.tolist(), strict=True))


def test_growth_is_found_through_noise_and_its_interval_holds_it() -> None:
    noise = np.random.default_rng(1).normal(0, 3, len(FAR))
    found = trend(pairs(100 + 0.01 * FAR + noise))
    assert found
    assert found.low < 0.01 * 899 < found.high
    assert found.sure > 5


def test_what_is_flat_is_surely_flat_at_its_rate() -> None:
    """In 95 of 100 runs of neighbours that are alike, nothing is sure."""
    random = np.random.default_rng(2)
    sure = 0
    for _ in range(400):
        steps = random.normal(0, 1, len(FAR))
        alike = np.convolve(steps, np.ones(8) / 8, "same")
        found = trend(pairs(alike))
        assert found
        sure += found.low > 0 or found.high < 0
    assert sure / 400 < 0.12


def test_constants_have_no_growth_at_all() -> None:
    assert trend(pairs(np.full(len(FAR), 77.7))) == Trend(0.0, 0.0, 0.0)


def test_a_warm_up_is_no_growth() -> None:
    values = np.full(len(FAR), 50.0)
    values[:90] = np.linspace(10, 50, 90)
    assert trend(pairs(values)) == Trend(0.0, 0.0, 0.0)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_too_few_samples_tell_nothing(count: int) -> None:
    assert trend(pairs(FAR)[:count]) is None


def test_a_leaked_descriptor_is_sure() -> None:
    values = np.where(FAR > 500, 41.0, 40.0)
    found = trend(pairs(values))
    assert found
    assert found.sure > 0.5
