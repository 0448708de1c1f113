"""Words that are written while they are spoken."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from ringbuf import Mark
from stages.asr.transcript import split_words
from stages.event import Event
from stages.lane import Lane
from tests.lanes import open_lanes
from tests.stages.asr.room import EAGER, Room


def test_words_are_written_while_they_are_spoken(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it", "Is it safe", "Is it safe to", "Is it safe?", streams=True)
    room.say(*[1] * 6, mark=Mark.START)
    room.step()
    assert room.ear.log == []  # less than a second
    room.say(*[1] * 26)
    room.step()
    assert (room.ear.log, room.heard()) == (["partial"], [])  # nothing agrees with one decode
    room.say(*[1] * 7)
    room.step()
    assert room.ear.log == ["partial"]  # less than a step more
    room.say(1)
    room.step()
    assert room.heard() == [("Is it", 0, 1, 1)]
    room.say(*[1] * 8)
    room.step()
    assert room.heard() == [(" safe", 5, 1, 1)]
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("?", 10, 1, 1), ("END", 11, 1, 1)]


def test_a_change_of_punctuation_alone_keeps_what_was_written(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "so is it fine", "so is it fine", "So, is it fine?", streams=True)
    room.say(*[1] * 32, mark=Mark.START)
    room.step()
    room.say(*[1] * 8)
    room.step()
    assert room.heard() == [("so is it", 0, 1, 1)]
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [(" fine?", 8, 1, 1), ("END", 14, 1, 1)]


def test_words_go_on_after_a_pause_that_was_none(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "one two", "one two three", "one two three four", streams=True)
    room.say(*[1] * 32, mark=Mark.START)
    room.step()
    room.mark(Mark.PAUSE)
    room.step()
    assert room.heard() == [("one two", 0, 1, 1)]  # the pause's decode is one like the others
    room.say(*[1] * 16)
    room.step()
    assert room.ear.log == ["partial", "final", "partial"]
    assert room.heard() == [(" three", 7, 1, 1)]


def test_partials_can_be_switched_off(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", streams=True, partials=False)
    room.say(*[1] * 100, mark=Mark.START)
    room.step()
    assert room.ear.log == []


def test_a_slow_machine_decodes_less_often(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, *["one two three"] * 9, streams=True, delay_ms=1000)
    room.say(*[1] * 32, mark=Mark.START)
    room.step()
    room.now += 1_000_000_000
    room.step()
    assert room.session.due is None
    room.say(*[1] * 62)  # a decode of one second is followed by one after two
    room.step()
    assert room.ear.log == ["partial", "partial"]  # the first step was not known to be slow
    room.now += 1_000_000_000
    room.step()
    room.say(*[1] * 62)
    room.step()
    assert len(room.ear.log) == 2
    room.say(1)
    room.step()
    assert len(room.ear.log) == 3


def test_the_timeline_says_when_words_came(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it", "Is it safe", "Is it safe?", streams=True)
    room.say(*[1] * 32, mark=Mark.START)
    room.step()
    room.say(*[1] * 8)
    room.step()
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.step()
    records = [(Event(record.event).name, record.value) for record in room.events()]
    assert records == [("COMMIT", 5), ("DECODE_START", 1280), ("FINAL", 3)]


@given(
    lines=st.lists(st.text("ab ", max_size=9), min_size=60, max_size=60),
    acts=st.lists(st.sampled_from(["say", "pause", "soft", "resume", "step"]), max_size=50),
)
@settings(deadline=None, max_examples=60)
def test_whatever_happens_the_words_on_the_ring_are_the_last_transcript(
    lines: list[str], acts: list[str]
) -> None:
    """The reader's copy, revised by position, ends as the text of the decode that was adopted."""
    with open_lanes() as make_lane:
        check(Room(make_lane, *lines, streams=True, **EAGER), lines, acts)


def check(room: Room, lines: list[str], acts: list[str]) -> None:
    written: list[str] = []
    room.say(1, mark=Mark.START)
    soft = False
    for act in [*acts, "soft", "step"]:
        if act == "say" and not soft:
            room.say(*[1] * 4)
        elif act == "pause" and not soft:
            room.mark(Mark.PAUSE)
        elif act == "soft" and not soft:
            room.mark(Mark.PAUSE)
            room.mark(Mark.SOFT_END)
            soft = True
        elif act == "resume" and soft:
            room.mark(Mark.RESUME)
            soft = False
        elif act == "step":
            used = len(room.ear.lines)
            room.step()
            if len(room.ear.lines) < used:
                last = lines[len(lines) - len(room.ear.lines) - 1]
        for text, position, _, _ in room.heard():
            if text not in ("END", "EMPTY", "RESUME"):
                written = [*written[:position], *text]
            else:
                written = written[:position]
    assert "".join(written) == "".join(split_words(last)).strip()
