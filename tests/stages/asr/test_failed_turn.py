"""What a turn costs whose decode failed, and the turns after it."""

from collections.abc import Callable

import pytest

from pipeline.errors import AudioError
from ringbuf import Mark
from stages.lane import Lane
from stages.messages import Status, Words
from tests.stages.asr.room import Room


def test_a_decode_that_raises_fails_the_turn_and_not_the_next(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, RuntimeError("out of memory"), "fine")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("FAILED", 0, 1, 1)]
    assert room.words() == [Words(1, 1, 0, Status.FAILED)]
    room.mark(Mark.RELEASE)
    room.say(2, turn=2, answer=2, mark=Mark.START)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.heard() == [("fine", 0, 2, 2), ("END", 4, 2, 2)]


def test_a_failed_turn_that_goes_on_fails_again(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, RuntimeError("out of memory"))
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.say(2, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert [words.status for words in room.words()] == [Status.FAILED, Status.FAILED]
    assert room.heard()[-1] == ("FAILED", 0, 1, 2)


def test_another_rate_is_never_guessed(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "fine")
    room.say(1, 2, rate=8000, mark=Mark.START)
    with pytest.raises(AudioError, match="speech brings 8000 Hz, expected 16000 Hz"):
        room.session.step()
    room.session.fail(AudioError("8000 Hz"))
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RELEASE)
    room.step()
    assert room.heard() == [("FAILED", 0, 1, 1), ("FAILED", 0, 1, 1)]
    room.say(3, turn=2, answer=2, mark=Mark.START)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.heard()[0] == ("fine", 0, 2, 2)


def test_a_pause_in_a_turn_that_failed_is_no_reason_to_spin(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, RuntimeError("out of memory"))
    room.say(1, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.step()
    room.say(2)
    room.mark(Mark.PAUSE)
    room.step()  # fails the test if it goes on at once for ever
    assert room.session.due is None
    assert room.ear.log == ["final"]


def test_an_utterance_that_is_dropped_was_empty_and_the_next_is_heard(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "never", "fine")
    room.say(1, mark=Mark.START)
    room.step()
    room.mark(Mark.DROP)
    room.step()
    assert room.heard() == [("EMPTY", 0, 1, 1)]
    room.session._recogniser.lines[:] = ["fine"]
    room.say(2, turn=2, answer=2, mark=Mark.START)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.heard() == [("fine", 0, 2, 2), ("END", 4, 2, 2)]


def test_an_answer_that_is_asked_for_comes_behind_the_words(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "fine")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RELEASE)
    room.turn.turn = 2
    room.mark(Mark.ASK, 2, 2)
    room.step()
    assert room.heard() == [("fine", 0, 1, 1), ("END", 4, 1, 1), ("ASK", 0, 2, 2)]
