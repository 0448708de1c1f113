from hypothesis import given
from hypothesis import strategies as st

from stages.asr.cadence import Cadence
from stages.topology import INPUT_RATE

SECOND = INPUT_RATE


def test_the_first_decode_waits_for_its_second_and_the_next_for_its_step() -> None:
    cadence = Cadence(1000, 250)
    assert not cadence.is_due(SECOND - 1)
    assert cadence.is_due(SECOND)
    cadence.began(SECOND)
    assert not cadence.is_due(SECOND + SECOND // 4 - 1)
    assert cadence.is_due(SECOND + SECOND // 4)


def test_a_slow_decode_makes_the_next_one_wait_twice_as_long() -> None:
    cadence = Cadence(1000, 250)
    cadence.took(400_000_000)
    assert cadence.step == 0.8 * SECOND


def test_a_new_turn_waits_for_its_first_second_again() -> None:
    cadence = Cadence(1000, 250)
    cadence.began(9 * SECOND)
    cadence.clear()
    assert cadence.is_due(SECOND)


@given(st.lists(st.integers(0, 1_000_000_000), min_size=1, max_size=30))
def test_decodes_never_take_more_than_half_of_the_time_for_long(costs: list[int]) -> None:
    """However long decodes take, the step follows; a steady cost is halved exactly."""
    cadence = Cadence(1000, 250)
    for cost in costs:
        cadence.took(cost)
    for _ in range(60):
        cadence.took(costs[-1])
    assert cadence.step >= 2 * costs[-1] * INPUT_RATE / 1e9 * 0.99 - 1


def test_a_program_that_was_stopped_is_not_slow_for_ever() -> None:
    cadence = Cadence(1000, 250)
    cadence.took(20_000_000_000)
    assert cadence.step == 2 * SECOND
