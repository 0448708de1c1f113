from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringbuf import Kind
from stages.asr.heard import Heard, revision
from stages.lane import Lane

ID_LISTS = st.lists(st.integers(0, 3), max_size=8)


def ids(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def read(lane: Lane) -> list[tuple[Kind, int, list[int]]]:
    with lane.heard.read() as batch:
        return [(run.kind, run.position, run.ids.tolist()) for run in batch.runs()]


def test_only_what_changed_is_written(make_lane: Callable[[str], Lane]) -> None:
    heard, reader = Heard(make_lane("asr").heard), make_lane("llm")
    heard.revise(ids(1, 2, 3), 1, 1)
    heard.flush()
    assert read(reader) == [(Kind.ID, 0, [1, 2, 3])]
    assert heard.revise(ids(1, 9, 3, 4), 1, 2)[0] == 1
    heard.mark(Kind.END, 1, 2)
    heard.flush()
    assert read(reader) == [(Kind.ID, 1, [9, 3, 4]), (Kind.END, 4, [0])]


def test_fewer_ids_are_said_by_the_end(make_lane: Callable[[str], Lane]) -> None:
    heard, reader = Heard(make_lane("asr").heard), make_lane("llm")
    heard.revise(ids(1, 2, 3), 1, 1)
    heard.revise(ids(1), 1, 1)
    heard.mark(Kind.END, 1, 1)
    heard.flush()
    assert read(reader) == [(Kind.ID, 0, [1, 2, 3]), (Kind.END, 1, [0])]


def test_a_new_turn_begins_at_the_first_position(make_lane: Callable[[str], Lane]) -> None:
    heard, reader = Heard(make_lane("asr").heard), make_lane("llm")
    heard.revise(ids(1, 2), 1, 1)
    heard.new_turn()
    heard.revise(ids(1, 2), 2, 2)
    heard.flush()
    assert read(reader) == [(Kind.ID, 0, [1, 2]), (Kind.ID, 0, [1, 2])]


def test_a_full_ring_keeps_order_and_loses_nothing(make_lane: Callable[[str], Lane]) -> None:
    lane, reader = make_lane("asr"), make_lane("llm")
    capacity = lane.heard.spec.capacity
    heard = Heard(lane.heard)
    many = np.arange(capacity + 100, dtype=np.int32)
    heard.revise(many, 1, 1)
    heard.mark(Kind.END, 1, 1)
    assert not heard.flush()
    first = read(reader)
    assert heard.flush()
    runs = [*first, *read(reader)]
    assert [value for kind, _, run in runs if kind is Kind.ID for value in run] == many.tolist()
    assert runs[-1] == (Kind.END, len(many), [0])


def test_what_is_forgotten_does_not_count(make_lane: Callable[[str], Lane]) -> None:
    lane, reader = make_lane("asr"), make_lane("llm")
    heard = Heard(lane.heard)
    heard.revise(ids(1, 2), 1, 1)
    heard.flush()
    heard.revise(ids(1, 2, 3), 1, 1)
    heard.clear()
    heard.mark(Kind.FAILED, 1, 1)
    heard.flush()
    assert read(reader) == [(Kind.ID, 0, [1, 2]), (Kind.FAILED, 2, [0])]


@pytest.mark.parametrize(
    ("old", "new", "position", "tail"),
    [
        ([], [], 0, []),
        ([], [1, 2], 0, [1, 2]),
        ([1, 2], [1, 2], 2, []),
        ([1, 2], [1, 2, 3], 2, [3]),
        ([1, 2, 3], [1, 9, 3], 1, [9, 3]),
        ([1, 2, 3], [1], 1, []),
        ([1, 2], [], 0, []),
    ],
)
def test_a_revision_begins_at_the_first_difference(old, new, position: int, tail) -> None:
    at, rest = revision(np.array(old, np.int32), np.array(new, np.int32))
    assert (at, rest.tolist()) == (position, tail)


@given(ID_LISTS, ID_LISTS)
def test_applying_a_revision_gives_the_new_ids(old: list[int], new: list[int]) -> None:
    at, tail = revision(np.array(old, np.int32), np.array(new, np.int32))
    assert old[:at] + tail.tolist() == new
