"""Whose turn it is: nobody who speaks waits, nobody who waits is forgotten."""

from hypothesis import given
from hypothesis import strategies as st

from stages.llm.schedule import Need, Schedule

SPEAK, ANSWER, WORDS, HISTORY = Need


def test_all_who_speak_are_served_in_every_round():
    schedule = Schedule(chunks=1)
    needs = {0: SPEAK, 1: WORDS, 2: SPEAK, 3: HISTORY}
    for _ in range(3):
        assert schedule.speaking(needs) == [0, 2]


def test_the_most_urgent_come_first_and_only_so_many():
    schedule = Schedule(chunks=2)
    needs = {0: HISTORY, 1: WORDS, 2: ANSWER, 3: SPEAK}
    assert schedule.prefill(needs) == [2, 1]


def test_lanes_of_one_urgency_take_turns():
    schedule = Schedule(chunks=1)
    needs = dict.fromkeys(range(3), WORDS)
    served = [lane for _ in range(6) for lane in schedule.prefill(needs)]
    assert served == [0, 1, 2, 0, 1, 2]


@given(
    st.dictionaries(st.integers(0, 9), st.sampled_from([ANSWER, WORDS]), min_size=1),
    st.integers(1, 4),
)
def test_nobody_of_one_urgency_waits_longer_than_a_turn_of_all(needs, chunks):
    schedule = Schedule(chunks)
    urgent = [lane for lane, need in needs.items() if need is min(needs.values())]
    seen = set()
    for _ in range(-(-len(urgent) // chunks)):
        served = schedule.prefill(needs)
        assert len(served) == min(chunks, len(needs))
        seen |= set(served)
    assert set(urgent) <= seen
