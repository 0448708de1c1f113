"""What became of clips: which turn was whose, and which latencies count."""

import numpy as np
import pytest

from pipeline.lab.record import MARKS, WHOLE, last_audible, record, wave
from pipeline.lab.run import Conversation, Turn, samples
from ringbuf import EventRecord
from stages.event import Event
from stages.outcome import Outcome
from tests.pipeline.lab.making import BEGAN, MS, SECOND, ended, said, told

ANSWER = {"silence": 60.0, "release": 250.0, "play_start": 299.0, "first_audio": 300.0}


def recorded(clips: list, what: object) -> tuple[Conversation, list[Turn]]:
    return record("c", clips, what, repeat=1, warm=True, index=0, began_s=0.0)  # type: ignore[arg-type]


def test_a_clip_and_its_answer() -> None:
    talk, (turn,) = recorded([said()], told([1.0], [ended(1.5, 2.5, **ANSWER)]))
    assert (turn.outcome, turn.first_audio_ms) == ("answered", 300.0)
    assert (turn.clip_start_s, turn.speech_start_s, turn.speech_end_s) == (1.0, 1.5, 2.5)
    assert (turn.word_errors, turn.words, turn.false_cut_offs) == (0, 3, 0)
    assert (talk.seconds, talk.strays) == (10.0, 0)


def test_an_answer_before_the_end_of_speech_is_a_cut_off_and_no_latency() -> None:
    early = {"silence": -400.0, "release": -200.0, "play_start": -151.0, "first_audio": -150.0}
    _, (turn,) = recorded([said()], told([1.0], [ended(1.5, 2.5, **early)]))
    assert turn.cut_off
    assert turn.false_cut_offs == 1
    assert turn.phases["first_audio"] == -150.0, "told as it was, never clamped"
    assert turn.first_audio_ms is None
    assert samples([turn]) == [], "and in no sample"


def test_a_clip_that_was_taken_for_two_turns_was_cut() -> None:
    turns = [
        ended(1.5, 2.5, 1, Outcome.INTERRUPTED, "What", release=-600.0),
        ended(2.2, 2.5, 2, transcript="is it?", **ANSWER),
    ]
    _, (turn,) = recorded([said()], told([1.0], turns))
    assert turn.false_cut_offs == 1
    assert (turn.transcript, turn.word_errors) == ("What is it?", 0)
    assert turn.first_audio_ms == 300.0, "of the turn that was answered"


def test_a_cancelled_turn_has_no_latency() -> None:
    cancelled = ended(1.5, 2.5, 1, Outcome.INTERRUPTED, release=250.0)
    _, (turn,) = recorded([said()], told([1.0], [cancelled]))
    assert (turn.outcome, turn.first_audio_ms) == ("interrupted", None)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.EMPTY, Outcome.TIMED_OUT])
def test_how_it_ended_is_kept(outcome: Outcome) -> None:
    _, (turn,) = recorded([said()], told([1.0], [ended(1.5, 2.5, 1, outcome)]))
    assert (turn.outcome, turn.first_audio_ms) == (outcome.label, None)


def test_a_clip_that_nobody_noticed() -> None:
    _, (turn,) = recorded([said()], told([1.0], []))
    assert (turn.outcome, turn.first_audio_ms, turn.phases) == ("no speech", None, {})
    assert (turn.word_errors, turn.words) == (3, 3), "all of its words were missed"


def test_a_greeting_is_nobodys_and_an_echo_is_a_stray() -> None:
    greeting = ended(0, 0)
    greeting.timeline.at.pop(Event.SPEECH_START)
    turns = [greeting, ended(1.5, 2.5, 1, **ANSWER), ended(7.0, 7.5, 2, **ANSWER)]
    talk, (turn,) = recorded([said()], told([1.0], turns))
    assert turn.outcome == "answered"
    assert talk.strays == 1


def test_turns_belong_to_the_clip_in_which_they_began() -> None:
    turns = [ended(1.5, 2.5, 1, **ANSWER), ended(5.5, 6.5, 2, transcript="x", **ANSWER)]
    _, (one, two) = recorded([said("a"), said("b")], told([1.0, 5.0], turns))
    assert (one.transcript, two.transcript) == ("What is it?", "x")


def test_a_clip_that_never_began_is_an_error_and_not_left_out() -> None:
    _, (one, two) = recorded([said("a"), said("b")], told([1.0], [ended(1.5, 2.5, **ANSWER)]))
    assert (one.outcome, one.errors) == ("answered", [])
    assert two.key == "b"
    assert two.errors
    assert two.first_audio_ms is None


def sounding(start_s: float, stop_s: float, seconds: float = 10.0) -> np.ndarray:
    """An answer between two seconds, silence elsewhere."""
    sound = np.zeros((int(seconds * 16_000), 2), np.int16)
    sound[int(start_s * 16_000) : int(stop_s * 16_000), 1] = 5000
    return sound


def interrupted(stop_s: float) -> tuple[Turn, Turn]:
    """An answer from 2.8 s on, that is silent at some time; a voice from 4.5 s on."""
    cut = ended(
        1.5, 2.5, 1, Outcome.INTERRUPTED, play_start=300.0, first_audio=300.0, play_end=5000
    )
    over = ended(4.6, 5.5, 2, play_start=1000.0, first_audio=1000.0)
    sound = sounding(2.8, stop_s)
    sound[int(6.5 * 16_000) :, 1] = 5000  # the next answer
    clips = [said("a"), said("b", over_answer_ms=1000)]
    _, (one, two) = recorded(clips, told([1.0, 4.0], [cut, over], sound))
    return one, two


def test_how_soon_an_answer_is_silent_after_a_voice() -> None:
    one, two = interrupted(4.62)
    assert one.outcome == "interrupted"
    assert (two.over_answer_ms, two.interrupted) == (pytest.approx(1200), True)
    assert two.silent_ms == pytest.approx(120, abs=10), "not until the next answer"


def test_an_answer_that_was_silent_already_kept_nobody_waiting() -> None:
    two = interrupted(4.2)[1]
    assert (two.interrupted, two.silent_ms) == (True, None), "not a negative one, and not zero"


def test_an_interruption_that_came_too_late() -> None:
    done = ended(1.5, 2.5, 1, play_start=300.0, first_audio=300.0, play_end=1000.0)
    clips = [said("a"), said("b", over_answer_ms=1000)]
    _, (_, late) = recorded(clips, told([1.0, 4.0], [done, ended(4.6, 5.5, 2, **ANSWER)]))
    assert (late.over_answer_ms, late.silent_ms) == (None, None)


@pytest.mark.parametrize(
    ("outcome", "goes_on"), [(Outcome.ANSWERED, True), (Outcome.INTERRUPTED, False)]
)
def test_a_murmur_over_an_answer(outcome: Outcome, goes_on: bool) -> None:
    first = ended(1.5, 2.5, 1, outcome, play_start=300.0, first_audio=300.0, play_end=5000.0)
    clips = [said("a"), said("mm", over_answer_ms=1000, goes_on=True)]
    _, (_, murmur) = recorded(clips, told([1.0, 4.0], [first]))
    assert murmur.goes_on is goes_on
    assert murmur.words is None, "nobody wants to know its words"


def test_the_close_up_of_an_answer_that_came_late_shows_it() -> None:
    """It ended after 8 s, and all that came later stood at its edge."""
    late = ended(1.5, 2.5, 1, play_start=12_000.0, first_audio=12_000.0)
    sound = np.zeros((16_000 * 20, 2), np.int16)
    _, (one,) = recorded([said("a")], told([1.0], [late], sound))
    assert one.wave
    assert one.wave.start_s + one.wave.seconds > 2.5 + 12.0


def test_the_picture_of_any_length_is_bounded() -> None:
    sound = np.ones((16_000 * 600, 2), np.int16)
    records = [EventRecord(0, 1, 1, Event.UNDERRUN, BEGAN + n * MS, 0) for n in range(2000)]
    talk, _ = recorded([said()], told([1.0], [], sound, records))
    assert talk.wave
    assert len(talk.wave.user) <= WHOLE * 4 / 3 + 4
    assert len(talk.marks) == MARKS


def test_a_picture_of_nothing() -> None:
    assert wave(np.zeros((0, 2), np.int16), 0, 100, 10) is None
    assert wave(np.zeros((50, 2), np.int16), 60, 100, 10) is None


def test_the_last_audible_sample() -> None:
    assert last_audible(np.zeros(16_000, np.int16)) is None
    assert last_audible(np.full(50, 5000, np.int16)) is None, "less than a window"
    sound = np.zeros(16_000, np.int16)
    sound[:800] = 5000
    sound[8000:] = 20  # far below -50 dBFS
    assert last_audible(sound) == 800


def test_marks_are_seconds_into_the_conversation() -> None:
    records = [EventRecord(0, 1, 2, Event.RELEASE, BEGAN + 2 * SECOND, 0)]
    talk, _ = recorded([said()], told([1.0], [], records=records))
    (mark,) = talk.marks
    assert (mark.at_s, mark.event, mark.answer) == (2.0, "release", 2)
