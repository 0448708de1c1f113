from pathlib import Path

from benchmarks.first_audio import describe, figures
from benchmarks.metrics import FIRST_AUDIO
from pipeline.events import TurnEnded
from pipeline.replay import Answer, Question
from pipeline.timeline import Timeline
from stages.event import Event
from stages.outcome import Outcome

MS = 1_000_000


def answer(clip: str, first_audio_ms: int | None, reply: str = "one two three") -> Answer:
    question = Question(Path(clip), 1.0, 0.8, "manifest")
    if first_audio_ms is None:
        return Answer(question, 1, None)
    at = {Event.RELEASE: 600 * MS, Event.FIRST_AUDIO: first_audio_ms * MS}
    timeline = Timeline(0, 1, 1, Outcome.ANSWERED, at, {}, 0, "clip")
    return Answer(question, 1, TurnEnded(timeline, "what", reply, reply))


def test_figures_of_two_clips() -> None:
    found = figures([answer("a.wav", 700), answer("a.wav", 900), answer("b.mp3", 1000)])
    assert found["first_audio_p50_ms"] == 900
    assert found["first_audio_max_ms"] == 1000
    assert found["first_audio_p50_ms.a"] == 800
    assert found["first_audio_p50_ms.b"] == 1000
    assert found["reply_words_p50"] == 3
    assert found["phase_release_p50_ms"] == 600
    assert found["phase_transcript_p50_ms"] is None
    assert FIRST_AUDIO.ordered(found)


def test_a_turn_without_an_answer_counts_as_that_only() -> None:
    found = figures([answer("a.wav", 700), answer("a.wav", None)])
    assert found["first_audio_p50_ms"] == 700
    assert (found["turns"], found["unanswered"]) == (2, 1)


def test_progress_tells_of_each_turn() -> None:
    assert describe(answer("a.wav", 700), 3) == "a.wav 1 of 3: 700 ms"
    assert describe(answer("a.wav", None), 3) == "a.wav 1 of 3: no speech"
