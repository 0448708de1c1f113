"""Turns that become ids: soft ends, going on, and what neighbours are told."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ringbuf import Mark
from stages.asr.transcriber import said
from stages.asr.transcript import split_words
from stages.lane import Lane
from stages.messages import Caption, CaptionKind, Status, Words
from tests.stages.asr.room import Room


def test_a_turn_becomes_ids_and_an_end(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it?")
    room.say(1, 2, 3, mark=Mark.START)
    room.step()
    assert room.heard() == []
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]
    assert room.words() == [Words(1, 1, 2, Status.OK, question=True)]
    assert room.values() == [[1, 2, 3]]
    assert room.session.due is None


def test_going_on_keeps_the_words_and_revises_the_tail(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it?", "Is it safe?")
    room.say(1, 2, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.say(3)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.say(4, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.heard() == [
        ("Is it?", 0, 1, 1),
        ("END", 6, 1, 1),
        ("RESUME", 6, 1, 2),
        (" safe?", 5, 1, 2),
        ("END", 11, 1, 2),
    ]
    assert room.values() == [[1, 2], [1, 2, 3, 4]]
    assert room.ear.log == ["final", "settle", "final"]
    assert room.words() == [
        Words(1, 1, 2, Status.OK, question=True),
        Words(1, 2, 3, Status.OK, question=True),
    ]


def test_a_pause_that_is_already_over_is_not_decoded(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "one two")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RESUME, answer=2)
    room.say(2, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.values() == [[1], [1, 2]]
    assert room.ear.log[:1] == ["final"]  # and never begun
    assert room.heard() == [("RESUME", 0, 1, 2), ("one two", 0, 1, 2), ("END", 7, 1, 2)]


def test_two_turns_in_one_batch_are_kept_apart(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "one", "two")
    for turn, value in ((1, 10), (2, 20)):
        room.say(value, value, turn=turn, answer=turn, mark=Mark.START)
        room.mark(Mark.SOFT_END, turn, turn)
        room.say(value + 1, turn=turn, answer=turn)
        room.mark(Mark.RELEASE, turn, turn)
    room.step()
    assert room.values() == [[10, 10], [20, 20]]
    assert room.heard() == [("one", 0, 1, 1), ("END", 3, 1, 1), ("two", 0, 2, 2), ("END", 3, 2, 2)]


def test_the_same_words_again_are_not_written_again(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", "yes")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.heard()[2:] == [("RESUME", 3, 1, 2), ("END", 3, 1, 2)]


def test_no_words_are_said_to_be_none(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("EMPTY", 0, 1, 1)]
    assert room.words() == [Words(1, 1, 0, Status.EMPTY)]


def test_words_that_turn_out_to_be_none_are_taken_back(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "you", "")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.heard()[-1] == ("EMPTY", 0, 1, 2)


def test_the_client_reads_along(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it?", "Is it safe?", "Is")
    room.say(1, mark=Mark.START)
    for answer in (1, 2, 3):
        room.mark(Mark.SOFT_END, answer=answer)
        room.step()
        room.mark(Mark.RESUME, answer=answer + 1)
    ring = room.control._lane.command("captions_asr")
    shown = ""
    for caption in map(Caption.unpack, ring.read()):
        assert caption.kind in (CaptionKind.HEARD, CaptionKind.HEARD_ALL)
        ids = np.frombuffer(caption.payload, "<i4")
        shown = shown[: caption.position] + "".join(map(chr, ids))
    assert shown == "Is"


def test_a_full_ring_makes_the_lane_wait(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "x" * 700, "next")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RELEASE)
    room.say(2, turn=2, answer=2, mark=Mark.START)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.session.due is None  # it does not spin: it is woken when there is room
    assert room.words() == []
    runs = room.heard()
    room.step()
    runs += room.heard()
    assert "".join(run[0] for run in runs if len(run[0]) > 5) == "x" * 700
    assert runs[-3:] == [("END", 700, 1, 1), ("next", 0, 2, 2), ("END", 4, 2, 2)]
    assert [words.turn for words in room.words()] == [1, 2]


def test_a_turn_whose_start_is_missing_begins_with_its_number(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "one", "two")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.say(2, turn=2, answer=2)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.values() == [[1], [2]]
    assert room.heard()[2:] == [("two", 0, 2, 2), ("END", 3, 2, 2)]


@pytest.mark.parametrize("cuts", [[], [1], [3], [1, 2, 3, 4, 5, 6, 7]])
def test_when_blocks_arrive_does_not_matter(
    make_lane: Callable[[str], Lane], cuts: Sequence[int]
) -> None:
    room = Room(make_lane, "first", "second")
    actions = [
        lambda: room.say(1, 2, mark=Mark.START),
        lambda: room.mark(Mark.SOFT_END),
        lambda: room.say(3),
        lambda: room.mark(Mark.RELEASE),
        lambda: room.say(4, turn=2, answer=2, mark=Mark.START),
        lambda: room.mark(Mark.SOFT_END, 2, 2),
        lambda: room.mark(Mark.RELEASE, 2, 2),
    ]
    for index, act in enumerate(actions):
        if index in cuts:
            room.step()
        act()
    room.step()
    assert room.values() == [[1, 2], [4]]
    assert [run[0] for run in room.heard()] == ["first", "END", "second", "END"]


def test_a_soft_end_without_a_turn_is_answered_with_nothing(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "yes")
    room.say(1, mark=Mark.START)
    room.mark(Mark.RELEASE)
    room.mark(Mark.SOFT_END)
    room.step()
    assert [words.status for words in room.words()] == [Status.EMPTY]
    assert room.session.due is None


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("is it so?", True),
        ('he said "why?"', True),
        ("it is so.", False),
        ("\u771f\u7684\uff1f", True),
        ("", False),
    ],
)
def test_turn_is_told_of_questions(text: str, question: bool) -> None:
    told = said(split_words(text), 3, 4)
    assert (told.turn, told.answer, told.question) == (3, 4, question)
