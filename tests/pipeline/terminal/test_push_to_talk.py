"""Push to talk, of a key whose presses alone are told; times in s."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.terminal.controls import Controls
from pipeline.terminal.keys import Key
from pipeline.terminal.push_to_talk import REPEAT_S, PushToTalk
from stages.messages import Command

CANCEL, COMMIT, OPEN = Command.CANCEL, Command.COMMIT, Command.OPEN
MUTE, UNMUTE = Command.MUTE, Command.UNMUTE
BEGIN, DONE = [CANCEL, UNMUTE, OPEN], [COMMIT, MUTE]


def open_at(presses: list[float], until: float) -> tuple[list[float], bool]:
    """When it opens or closes, to 10 ms, and whether it is open at the end."""
    talk, changes = PushToTalk(), []
    for step in range(round(until * 100) + 1):
        now = step / 100
        was = talk.is_open
        talk.tick(now)
        for press in presses:
            if round(press * 100) == step:
                talk.press(now)
        if talk.is_open != was:
            changes.append(now)
    return changes, talk.is_open


def test_one_press_begins_and_another_ends() -> None:
    assert open_at([1.0, 4.0], 9.0) == ([1.0, 4.0], False)
    assert open_at([1.0], 9.0) == ([1.0], True)
    assert open_at([1.0, 4.0, 6.0], 9.0) == ([1.0, 4.0, 6.0], True)


def test_two_quick_presses_are_begin_and_end_too() -> None:
    assert open_at([1.0, 1.4], 9.0) == ([1.0, pytest.approx(1.65)], False)


@pytest.mark.parametrize(
    ("first", "every"),
    [(0.5, 0.033), (0.25, 0.092), (0.66, 0.04)],
    ids=["many", "a Linux console", "X"],
)
def test_a_key_that_is_held_down_ends_when_it_is_let_go(first: float, every: float) -> None:
    repeats = [1.0 + first + every * n for n in range(int(3 / every))]
    changes, is_open = open_at([1.0, *repeats], 9.0)
    assert changes == [1.0, pytest.approx(repeats[-1] + REPEAT_S, abs=0.02)]
    assert not is_open


def test_a_key_that_repeats_late_ends_it_once() -> None:
    """Slower than any usual setting: the first repetition counts as a press, the others do not."""
    repeats = [2.0 + 0.05 * n for n in range(40)]
    assert open_at([1.0, *repeats], 9.0) == ([1.0, 2.0], False)


@given(st.lists(st.floats(0, 3), max_size=60))
def test_it_is_never_stuck(gaps: list[float]) -> None:
    """However the key was pressed: once left alone, one press at most ends it."""
    talk, now = PushToTalk(), 0.0
    for gap in gaps:
        now += gap
        talk.tick(now)
        was = talk.is_open
        assert talk.press(now) == (talk.is_open != was)
    now += 1.0
    talk.tick(now)
    assert not talk.is_held
    if talk.is_open:
        assert talk.press(now)
    assert not talk.is_open
    assert talk.deadline is None


def test_what_each_key_asks() -> None:
    controls = Controls()
    assert controls.press(Key.MUTE, 0) == [MUTE]
    assert controls.is_muted
    assert controls.press(Key.MUTE, 1) == [UNMUTE]
    assert not controls.is_muted
    assert controls.press(Key.INTERRUPT, 2) == [CANCEL]
    assert controls.press(Key.QUIT, 3) == []


def test_between_two_pushes_the_microphone_is_off() -> None:
    controls = Controls()
    assert controls.press(Key.TALK, 1.0) == BEGIN
    assert (controls.is_muted, controls.talk.is_open) == (False, True)
    assert controls.press(Key.TALK, 5.0) == DONE
    assert (controls.is_muted, controls.talk.is_open) == (True, False)
    assert controls.press(Key.TALK, 8.0) == BEGIN
    assert controls.press(Key.TALK, 8.5) == []
    assert controls.talk.is_held
    assert controls.tick(8.6) == []
    assert controls.tick(8.8) == DONE
    assert controls.press(Key.MUTE, 9.0) == [UNMUTE], "from here on it listens as at the start"


def test_a_push_may_be_left_with_the_microphone_on() -> None:
    controls = Controls()
    controls.press(Key.TALK, 1.0)
    assert controls.press(Key.MUTE, 2.0) == [UNMUTE]
    assert (controls.is_muted, controls.talk.is_open) == (False, False)


keys = st.sampled_from([Key.MUTE, Key.TALK, Key.INTERRUPT])


@given(st.lists(st.tuples(keys, st.floats(0, 2)), max_size=60))
def test_what_is_shown_of_the_microphone_is_what_was_asked(
    presses: list[tuple[Key, float]],
) -> None:
    controls, now, muted, pushed = Controls(), 0.0, False, False
    for key, gap in presses:
        now += gap
        for command in (*controls.tick(now), *controls.press(key, now)):
            if command in (MUTE, UNMUTE):
                muted, pushed = command is MUTE, False
            if command is OPEN:
                pushed = True
        assert (controls.is_muted, controls.talk.is_open) == (muted, pushed)
