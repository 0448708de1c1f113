import pytest

from benchmarks.sample import median, percentile, rounded


def test_percentiles_lie_between_neighbours() -> None:
    assert percentile([1, 2, 3, 4], 50) == 2.5
    assert percentile(iter([10]), 99) == 10
    assert median([3, 1, 2]) == 2


def test_nothing_has_no_percentile() -> None:
    assert percentile([], 50) is None
    assert median([]) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1234.56789, 1234.568), (0.00123456, 0.00123), (-0.5551, -0.555), (0, 0), (None, None)],
)
def test_figures_keep_what_can_be_known(value: float | None, expected: float | None) -> None:
    assert rounded(value) == expected
