"""The kernel's accounts of the cores."""

import pytest

from pipeline import kernel
from pipeline.kernel import Cores

BEFORE = Cores(10.0, 1_000_000, (100, 0, 50, 800, 0, 0, 0, 10))


def test_shares_are_of_the_time_between() -> None:
    after = Cores(12.0, 1_500_000, (200, 0, 100, 820, 0, 0, 0, 40))
    assert after.waiting(BEFORE) == pytest.approx(0.25)
    assert after.stolen(BEFORE) == pytest.approx(30 / 200)


def test_no_share_is_above_all() -> None:
    assert Cores(10.001, 1_900_000, None).waiting(BEFORE) == 1.0


def test_what_the_kernel_does_not_say_is_not_known() -> None:
    nothing = Cores(12.0, None, None)
    assert nothing.waiting(BEFORE) is nothing.stolen(BEFORE) is None
    assert BEFORE.waiting(nothing) is BEFORE.stolen(nothing) is None


def test_this_kernel_can_be_asked() -> None:
    earlier = kernel.Cores.now()
    later = kernel.Cores.now()
    assert later.at >= earlier.at
    assert kernel.quota() is None or kernel.quota() > 0  # type: ignore[operator]
