"""Speech over an answer: `turn` is told what it brings, the language model only what counts."""

from collections.abc import Callable

import pytest

from ringbuf import Mark
from stages.asr.transcript import Transcript
from stages.lane import Lane
from stages.messages import Status, Words
from tests.stages.asr.room import Room

MakeRoom = Callable[..., Room]


def over(room: Room, value: int = 1, turn: int = 2, answer: int = 5) -> None:
    """Something is said while the answer to turn 1 is heard."""
    room.say(value, value, turn=turn, answer=answer, mark=Mark.START)
    room.turn.turn = turn - 1


def pause(room: Room, turn: int = 2, answer: int = 5) -> None:
    room.mark(Mark.PAUSE, turn, answer)
    room.mark(Mark.SOFT_END, turn, answer)


@pytest.fixture
def room(make_lane: Callable[[str], Lane]) -> MakeRoom:
    return lambda *lines: Room(make_lane, *lines)


def test_words_wait_until_they_are_a_turn(room: MakeRoom) -> None:
    made = room("stop it")
    over(made)
    pause(made)
    made.mark(Mark.RELEASE, 2, 5)
    made.step()
    assert made.words() == [Words(2, 5, 2, Status.OK)]
    assert made.heard() == []
    assert made.session.due is None  # it is `turn` that wakes it
    made.turn.turn = 2
    made.step()
    assert made.heard() == [("stop it", 0, 2, 5), ("END", 7, 2, 5)]
    assert made.words() == [Words(2, 5, 2, Status.OK)]
    assert not len(made.asr.speech)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", Words(2, 5, 0, Status.EMPTY)),
        ("Uh-huh.", Words(2, 5, 1, Status.OK, backchannel=True)),
        (Transcript((" in", " them."), -1.06), Words(2, 5, 2, Status.OK, backchannel=True)),
    ],
)
def test_what_is_nothing_to_answer_leaves_no_trace(
    room: MakeRoom, line: str | Transcript, told: Words
) -> None:
    made = room(line, "what time is it")
    over(made)
    pause(made)
    made.mark(Mark.RELEASE, 2, 5)
    made.step()
    assert made.words() == [told]
    assert made.heard() == []
    made.say(1, turn=2, answer=6, mark=Mark.START)
    pause(made, answer=6)
    made.step()
    assert made.heard() == [("what time is it", 0, 2, 6), ("END", 15, 2, 6)]


def test_a_command_counts_however_unsure_the_recogniser_is(room: MakeRoom) -> None:
    made = room(Transcript((" Stop.",), -1.2))
    over(made)
    pause(made)
    made.step()
    assert made.words() == [Words(2, 5, 1, Status.OK)]


def test_a_backchannel_that_goes_on_is_words(room: MakeRoom) -> None:
    made = room("okay", "okay but why")
    over(made)
    pause(made)
    made.step()
    made.mark(Mark.RESUME, 2, 6)
    made.say(1, turn=2, answer=6)
    made.turn.turn = 1
    pause(made, answer=6)
    made.step()
    assert made.words()[-1] == Words(2, 6, 3, Status.OK)
    assert made.heard() == []
    made.turn.turn = 2
    made.step()
    assert made.heard() == [("okay but why", 0, 2, 6), ("END", 12, 2, 6)]


def test_words_that_never_became_a_turn_do_not_keep_the_next_ones_waiting(room: MakeRoom) -> None:
    made = room("stop it", "what time is it")
    over(made)
    pause(made)
    made.mark(Mark.RELEASE, 2, 5)
    made.step()
    over(made, answer=6)
    pause(made, answer=6)
    made.step()
    assert made.words()[-1] == Words(2, 6, 4, Status.OK)
    made.turn.turn = 2
    made.step()
    assert made.heard() == [("what time is it", 0, 2, 6), ("END", 15, 2, 6)]


def test_a_recogniser_that_fails_over_an_answer_says_so_to_turn_alone(room: MakeRoom) -> None:
    made = room(ValueError("broken"))
    over(made)
    pause(made)
    made.step()
    assert made.words() == [Words(2, 5, 0, Status.FAILED)]
    assert made.heard() == []
