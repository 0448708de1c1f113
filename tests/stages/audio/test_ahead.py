"""Sound that is sent before its time: how much of it, and what is known of it afterwards."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ringbuf import AudioBlock, Mark
from stages.audio.ahead import Ahead
from stages.audio.playback import Gate
from stages.messages import End, Status

RATE, BLOCK = 24_000, 480  # 20 ms
LEAD_NS = 300_000_000
OPEN = Gate(answer=1, released=1)


def block(index: int, answer: int = 1) -> AudioBlock:
    samples = np.full(BLOCK, index, np.int16)
    return AudioBlock(samples, index * BLOCK, RATE, 1, answer, Mark.NONE, index + 1, 0, 0)


def test_nothing_is_sent_further_ahead_than_the_lead() -> None:
    ahead = Ahead(LEAD_NS)
    ring = [block(n) for n in range(40)]
    assert [p.first // BLOCK for p in ahead.take(OPEN, 0, ring)] == list(range(15))
    pieces = ahead.take(OPEN, 5 * BLOCK, ring[5:])
    assert ahead.sent == 20 * BLOCK
    assert pieces[-1].first == 19 * BLOCK
    assert ahead.take(OPEN, 5 * BLOCK, ring[5:]) == [], "and nothing twice"


def test_nothing_is_sent_while_the_gate_is_shut() -> None:
    ahead = Ahead(LEAD_NS)
    for gate in (Gate(1, 0), Gate(1, 1, hold=True), Gate(2, 1)):
        assert ahead.take(gate, 0, [block(0)]) == []
    assert ahead.answer is None
    assert len(ahead.take(OPEN, 0, [block(0)])) == 1


def test_another_answer_begins_anew_and_stale_blocks_are_passed_over() -> None:
    ahead = Ahead(LEAD_NS)
    ahead.take(OPEN, 0, [block(n) for n in range(5)])
    pieces = ahead.take(Gate(2, 2), 0, [block(5), block(0, answer=2)])
    assert [(p.answer, p.first) for p in pieces] == [(2, 0)]
    assert (ahead.answer, ahead.sent) == (2, BLOCK)


def test_the_end_is_told_once_when_all_of_it_was_sent() -> None:
    ahead = Ahead(LEAD_NS)
    ahead.take(OPEN, 0, [block(0)])
    assert not ahead.is_whole(OPEN)
    ended = Gate(1, 1, end=End(1, 2, Status.OK))
    assert not ahead.is_whole(ended)
    ahead.take(ended, 0, [block(0), block(1)])
    assert ahead.is_whole(ended)
    assert not ahead.is_whole(ended)


def test_ids_that_were_voiced_by_a_sample_are_known() -> None:
    ahead = Ahead(LEAD_NS)
    ahead.take(OPEN, 0, [block(n) for n in range(5)])
    asked = (0, BLOCK - 1, BLOCK, 3 * BLOCK, 5 * BLOCK, 99 * BLOCK)
    assert [ahead.position(samples) for samples in asked] == [0, 0, 1, 3, 5, 5]


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30),
    st.integers(1, 500),
)
def test_all_of_it_is_sent_in_order_whatever_the_pace(
    steps: list[tuple[int, int]], lead_ms: int
) -> None:
    """Each step: so many blocks more are there, and the time of so many more has passed."""
    ahead = Ahead(lead_ms * 1_000_000)
    there = heard = 0
    sent: list[int] = []
    for more, passed in [*steps, (0, 100)]:
        there += more
        unread = [block(n) for n in range(heard, there)]
        sent += [p.first // BLOCK for p in ahead.take(OPEN, heard * BLOCK, unread)]
        in_time = heard + -(-lead_ms // 20)
        assert len(sent) == min(there, max(in_time, len(sent)))
        heard = min(there, len(sent), heard + passed)
    while heard < there:
        unread = [block(n) for n in range(heard, there)]
        sent += [p.first // BLOCK for p in ahead.take(OPEN, heard * BLOCK, unread)]
        heard = len(sent)
    assert sent == list(range(there))
