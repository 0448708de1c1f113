"""The decode of the whole turn: when it begins, is adopted, and is given up."""

from collections.abc import Callable

import pytest

from ringbuf import Mark
from stages.asr.recogniser import Decoding
from stages.lane import Lane
from stages.messages import Status
from tests.stages.asr.room import EAGER, Room


def test_the_final_decode_begins_at_the_pause_and_is_adopted(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "Is it?")
    room.say(1, 2, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.step()
    assert room.ear.log == ["final"]
    assert room.heard() == []  # nobody knows yet whether that was the end
    room.say(0)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]
    assert room.values() == [[1, 2]]


def test_a_pause_that_was_none_is_decoded_again(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is", "Is it?")
    room.say(1, 2, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.step()
    room.say(3)
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.values() == [[1, 2], [1, 2, 3]]
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]


def test_the_final_decode_can_be_left_to_the_soft_end(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it?", decode_at_pause=False)
    room.say(1, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.step()
    assert room.ear.log == []
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]


def test_a_decode_of_speech_that_goes_on_is_given_up_at_the_pause(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "Is it?", streams=True)
    room.say(*[1] * 32, mark=Mark.START)
    room.session.step()
    room.session.go_on()  # it has encoded, and would generate next
    assert room.session.waiting_since is not None
    room.mark(Mark.PAUSE)
    room.step()
    assert room.ear.log == ["partial", "given up", "final"]
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]


@pytest.mark.parametrize("agreement", [1, 2])
def test_a_decode_that_began_in_the_silence_ends_with_the_soft_end(
    make_lane: Callable[[str], Lane], agreement: int
) -> None:
    """It would write behind END, or fail a turn that was answered."""
    lines = ("one two", RuntimeError("too late"))
    room = Room(make_lane, *lines, streams=True, agreement=agreement, **EAGER)
    room.say(*[1] * 10, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.session.step()
    room.say(0, 0)
    room.session.step()
    room.session.go_on()
    assert room.ear.log == ["final", "partial"]
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.ear.log == ["final", "partial", "given up"]
    assert [words.status for words in room.words()] == [Status.OK]
    assert room.heard()[-1] == ("END", 7, 1, 1)


def test_a_soft_end_that_comes_during_its_decode_is_answered_in_the_same_step(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "yes")
    room.say(1, mark=Mark.START)
    room.mark(Mark.PAUSE)
    decode = room.ear.decode

    def slow(*, final: bool) -> Decoding:
        room.mark(Mark.SOFT_END)
        return decode(final=final)

    room.ear.decode = slow
    room.session.step()
    assert room.heard() == [("yes", 0, 1, 1), ("END", 3, 1, 1)]


def test_nothing_is_decoded_in_the_silence_after_the_end(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", "yes and", streams=True)
    room.say(*[1] * 20, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.say(*[0] * 40)
    room.step()
    assert room.ear.log == ["final"]
    room.mark(Mark.RESUME, answer=2)
    room.say(*[1] * 9, answer=2)
    room.step()
    assert room.ear.log == ["final", "settle", "partial"]


def test_a_slow_script_answers_when_its_time_has_come(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", delay_ms=5)
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RELEASE)
    room.step()
    assert (room.heard(), room.session.due) == ([], 1_000 + 5_000_000)
    room.now += 5_000_000
    room.step()
    assert room.heard() == [("yes", 0, 1, 1), ("END", 3, 1, 1)]
    assert len(room.turn.speech) == 0


def test_a_slow_script_is_stopped_by_going_on(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", delay_ms=5)
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.now += 9_000_000
    room.step()
    assert room.heard() == [("RESUME", 0, 1, 2)]
