"""When a stage may die, and when that is the end."""

from pipeline.restarts import Restarts


def test_delays_grow_and_have_a_limit() -> None:
    restarts = Restarts(most=8, window_s=1000)
    delays = [restarts.died(now) for now in range(8)]
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert restarts.died(8) is None


def test_old_deaths_are_forgotten() -> None:
    restarts = Restarts(most=1, window_s=10)
    assert restarts.died(0) == 0.1
    assert restarts.died(20) == 0.1
    assert restarts.died(25) is None


def test_none_is_forgiven_if_none_may() -> None:
    assert Restarts(most=0, window_s=10).died(0) is None
