"""Where an utterance begins, pauses and ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringbuf import Mark
from stages.turn.endpointer import WINDOW_MS, Endpointer, Phase, Rules

RULES = Rules(
    threshold=0.5,
    min_speech_ms=64,
    soft_end_ms=96,
    release_ms=320,
    max_turn_ms=3200,
    early_release_ms=192,
    late_release_ms=640,
)


def marks(probabilities: list[float], rules: Rules = RULES) -> list[tuple[int, Mark]]:
    endpointer = Endpointer(rules)
    return [
        (index, mark)
        for index, probability in enumerate(probabilities)
        for mark in endpointer.window(probability)
    ]


def test_an_utterance() -> None:
    assert marks([0.0] * 5 + [0.9] * 10 + [0.0] * 12) == [
        (6, Mark.START),  # 64 ms of voice
        (15, Mark.PAUSE),  # the first silent window
        (17, Mark.SOFT_END),  # 96 ms of silence
        (24, Mark.RELEASE),  # 320 ms of silence
    ]


def test_a_click_is_no_utterance() -> None:
    assert marks([0.0, 0.9, 0.0, 0.9, 0.0] * 10) == []


@pytest.mark.parametrize(
    ("probabilities", "start"), [([0.0, 0.41, 0.0], 1), ([0.39] * 20, None), ([0.9], 0)]
)
def test_a_voice_that_is_softened_is_believed_at_once(
    probabilities: list[float], start: int | None
) -> None:
    endpointer = Endpointer(RULES)
    found = [endpointer.window(each, is_faint=True) for each in probabilities]
    started = [index for index, marks in enumerate(found) if Mark.START in marks]
    assert started == ([] if start is None else [start])


def test_only_its_beginning_is_softened() -> None:
    endpointer = Endpointer(RULES)
    endpointer.window(0.41, is_faint=True)
    assert endpointer.window(0.34, is_faint=True) == (Mark.PAUSE,)


def test_a_short_pause_goes_on_and_a_longer_one_resumes() -> None:
    assert marks([0.9] * 4 + [0.0] * 2 + [0.9] * 4 + [0.0] * 4 + [0.9] * 3 + [0.0] * 12) == [
        (1, Mark.START),
        (4, Mark.PAUSE),
        (10, Mark.PAUSE),
        (12, Mark.SOFT_END),
        (14, Mark.RESUME),
        (17, Mark.PAUSE),
        (19, Mark.SOFT_END),
        (26, Mark.RELEASE),
    ]


def test_a_voice_in_progress_may_be_less_sure_than_one_that_begins() -> None:
    assert marks([0.9] * 2 + [0.4] * 20) == [(1, Mark.START)]
    assert marks([0.4] * 20) == []


def test_endless_speech_is_ended() -> None:
    assert marks([0.9] * 150) == [
        (1, Mark.START),
        (99, Mark.PAUSE),
        (99, Mark.SOFT_END),
        (99, Mark.RELEASE),
    ]


def test_after_a_forced_end_a_pause_comes_before_the_next_utterance() -> None:
    """Or the tail of the utterance would interrupt the answer to it."""
    endless = [0.9] * 120
    assert marks([*endless, *[0.0] * 2, *[0.9] * 20])[4:] == []
    assert marks([*endless, *[0.0] * 3, *[0.9] * 20])[4:] == [(124, Mark.START)]


def test_sound_that_stopped_is_a_pause() -> None:
    endpointer = Endpointer(RULES)
    for _ in range(3):
        endpointer.window(0.9)
    assert endpointer.end(sound_stopped=True) == (Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE)
    assert [endpointer.window(0.9) for _ in range(2)] == [(), (Mark.START,)]


def test_onset_is_where_the_voice_began() -> None:
    endpointer = Endpointer(RULES)
    for probability in (0.0, 0.9, 0.9):
        endpointer.window(probability)
    assert endpointer.onset_windows == 2


@pytest.mark.parametrize(
    ("probabilities", "expected", "phase"),
    [
        ([], (), Phase.QUIET),
        ([0.9] * 3, (Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE), Phase.SPENT),
        ([0.9] * 3 + [0.0], (Mark.SOFT_END, Mark.RELEASE), Phase.SPENT),
        ([0.9] * 3 + [0.0] * 4, (Mark.RELEASE,), Phase.QUIET),
        ([0.9] * 110, (), Phase.SPENT),
    ],
)
def test_end_from_every_phase(
    probabilities: list[float], expected: tuple[Mark, ...], phase: Phase
) -> None:
    endpointer = Endpointer(RULES)
    for probability in probabilities:
        endpointer.window(probability)
    assert endpointer.end() == expected
    assert endpointer.phase is phase
    assert endpointer.end() == ()


FOLLOWERS = {
    None: {Mark.START},
    Mark.START: {Mark.PAUSE},
    Mark.PAUSE: {Mark.PAUSE, Mark.SOFT_END},
    Mark.SOFT_END: {Mark.RESUME, Mark.RELEASE},
    Mark.RESUME: {Mark.PAUSE},
    Mark.RELEASE: {Mark.START},
}


@given(st.lists(st.floats(0, 1), max_size=400))
def test_marks_come_in_order_and_silence_always_ends(probabilities: list[float]) -> None:
    silence = [0.0] * (RULES.release_ms // WINDOW_MS + 1)
    last: Mark | None = None
    for _, mark in marks([*probabilities, *silence]):
        assert mark in FOLLOWERS[last]
        last = mark
    assert last in (None, Mark.RELEASE)


def test_without_early_work_everything_waits_for_the_end_of_the_turn() -> None:
    endpointer = Endpointer(RULES)
    for _ in range(10):
        endpointer.window(0.9)
    told = [endpointer.window(0.0, early=False) for _ in range(10)]
    assert [marks for marks in told if marks] == [(Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE)]
    assert told.index((Mark.PAUSE, Mark.SOFT_END, Mark.RELEASE)) == 9


def test_going_on_before_any_early_work_is_no_resume() -> None:
    endpointer = Endpointer(RULES)
    for _ in range(10):
        endpointer.window(0.9)
    told = [endpointer.window(0.0, early=False) for _ in range(5)]
    assert [*told, endpointer.window(0.9)] == [()] * 6


def test_an_utterance_that_is_held_open_ends_when_it_is_let_go() -> None:
    endpointer = Endpointer(RULES)
    endpointer.is_held_open = True
    told = [mark for p in [0.9] * 5 + [0.0] * 50 for mark in endpointer.window(p)]
    assert told == [Mark.START, Mark.PAUSE, Mark.SOFT_END], "its pause is used all the same"
    assert endpointer.window(0.9) == (Mark.RESUME,)
    for _ in range(20):
        endpointer.window(0.0)
    endpointer.is_held_open = False
    assert endpointer.end() == (Mark.RELEASE,)


def test_an_utterance_that_is_held_open_is_no_longer_than_any() -> None:
    endpointer = Endpointer(RULES)
    endpointer.is_held_open = True
    told = [mark for p in [0.9] * 5 + [0.0] * 120 for mark in endpointer.window(p)]
    assert told[-1] is Mark.RELEASE
