from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.asr_clips import Spoken, Word, align, read_clips, word_errors
from benchmarks.asr_figures import (
    Ending,
    Heard,
    Hearing,
    Reader,
    Slot,
    after_end,
    changed,
    endings,
    figures,
    held,
    pair_lags,
)
from benchmarks.asr_live import Clock, Live
from benchmarks.asr_long import concatenate, endless
from benchmarks.asr_sweep import Setting, draw, points, settings, table
from benchmarks.metrics import ASR, ASR_SWEEP
from pipeline.config import Config, load_config
from pipeline.errors import AudioError
from ringbuf import Kind
from stages.event import Event
from tests.benchmarks.results import result

CLIP = Spoken("a", np.zeros(16_000, np.int16), "One, two three.", 5.0, -70.0)


def ids(at: float, position: int, *values: int, turn: int = 1) -> list[Slot]:
    return [Slot(at, Kind.ID, turn, 1, position + n, value) for n, value in enumerate(values)]


def mark(at: float, kind: Kind, position: int, *, turn: int = 1, answer: int = 1) -> Slot:
    return Slot(at, kind, turn, answer, position, 0)


def test_an_id_counts_from_the_last_time_it_was_written() -> None:
    slots = [*ids(1.0, 0, 7, 8, 9), *ids(2.0, 1, 5, 9), mark(3.0, Kind.END, 3)]
    assert [(id.id, id.at) for id in held(slots)] == [(7, 1.0), (5, 2.0), (9, 2.0)]
    assert changed(slots, held(slots)) == 1  # 8; the 9 was only written again


def test_what_an_end_leaves_out_is_dropped() -> None:
    slots = [*ids(1.0, 0, 7, 8), mark(2.0, Kind.END, 1)]
    assert [id.id for id in held(slots)] == [7]
    assert changed(slots, held(slots)) == 1


def test_turns_are_apart() -> None:
    slots = [*ids(1.0, 0, 7), *ids(2.0, 0, 8, turn=2)]
    assert [(id.turn, id.id) for id in held(slots)] == [(1, 7), (2, 8)]
    assert changed(slots, held(slots)) == 0


def test_an_id_behind_an_end_is_counted() -> None:
    slots = [*ids(1.0, 0, 7), mark(2.0, Kind.END, 1), *ids(3.0, 1, 8), *ids(3.0, 0, 9, turn=2)]
    assert after_end(slots) == 1


def test_missing_ids_are_an_error() -> None:
    with pytest.raises(ValueError, match="position 3 of turn 1 after 1 ids"):
        held([*ids(1.0, 0, 7), *ids(1.0, 3, 7)])


def test_a_word_is_there_with_its_last_id() -> None:
    reader = Reader(lambda ids: "".join(map(chr, ids)), len)
    slots = [*ids(1.0, 0, *b"no"), *ids(2.0, 2, *b" wa"), *ids(3.0, 5, *b"y")]
    assert reader.words(held(slots)) == [("no", 1.0), ("way", 3.0)]


def test_lag_is_of_words_that_both_know() -> None:
    true = [Word("So", 1.0), Word("far,", 2.0), Word("good.", 3.0)]
    heard = [("so", 1.5), ("very", 1.6), ("far", 2.25), ("wood", 3.5)]
    assert pair_lags(true, heard) == [(1.0, 0.5), (2.0, 0.25), (3.0, 0.5)]
    assert align(["a"], []) == []


def test_the_last_soft_end_of_a_turn_counts() -> None:
    marks = [
        Heard(0.5, Event.SPEECH_START, 1, 1),
        Heard(1.0, Event.SILENCE, 1, 1),
        Heard(1.1, Event.SOFT_END, 1, 1),
        Heard(1.5, Event.RESUME, 1, 2),
        Heard(2.5, Event.SILENCE, 1, 2),
        Heard(2.6, Event.SOFT_END, 1, 2),
    ]
    slots = [mark(1.2, Kind.END, 0), mark(2.7, Kind.END, 0, answer=2)]
    (end,) = endings(Hearing(slots, marks))
    assert end == Ending(pytest.approx(2.0), pytest.approx(0.1), pytest.approx(0.2))
    assert endings(Hearing(slots[:1], marks)) == []  # nothing came of it


def test_figures_of_a_long_clip_and_a_short_one() -> None:
    reader = Reader(lambda ids: "".join(map(chr, ids)), len)
    hearing = Hearing([*ids(1.0, 0, *b"one"), *ids(6.0, 3, *b" two")])
    long = reader.heed(CLIP, [Word("one", 0.5), Word("two", 5.0)], hearing)
    found = figures([long, replace(long, long=False, before_end=0)])
    assert found["committed_before_end"] == pytest.approx(3 / 7)
    assert found["committed_before_end.short"] == 0
    assert found["commit_lag_p50_ms"] == pytest.approx(750)
    assert found["wer_streamed"] == pytest.approx(1 / 3)
    assert found["soft_end_to_final_p50_ms"] is None
    assert ASR.ordered(found)


def test_word_errors_leave_case_and_punctuation_aside() -> None:
    assert word_errors("Is it safe?", "is it, Safe") == (0, 3)
    assert word_errors("Is it safe?", "It is safe.")[0] == 2


def test_recordings_that_are_not_there_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="--recordings FOLDER"):
        read_clips(tmp_path / "none")
    with pytest.raises(AudioError, match="no clip"):
        read_clips(tmp_path)


def test_a_clock_that_skips_does_not_sleep() -> None:
    clock = Clock(live=False)
    until = clock.now() + 3_600_000_000_000
    clock.wait(until)
    assert clock.now() >= until
    skipped = clock.skipped
    clock.wait(until)  # it is over
    assert clock.skipped == skipped


def test_long_speech_keeps_the_time_of_its_words() -> None:
    speech, true = concatenate([CLIP], {"a": [Word("one", 0.5)]}, 2.0)
    assert speech.seconds >= 2.0
    assert [word.end_s for word in true] == pytest.approx([0.5, 1.8])
    assert speech.text == "One, two three. One, two three."


def test_an_endless_turn_is_not_for_users() -> None:
    assert endless(Config()).turn.max_turn_s > 1e6


def test_each_setting_of_the_sweep_is_a_point() -> None:
    every = list(settings(quick=False))
    assert len(every) == len(set(every)) == 2 * (5 + 3 * 3)
    config = Setting(300, 3, 4).of(Config())
    assert (config.asr.step_ms, config.asr.agreement, config.asr.window_s) == (300, 3, 4.0)


def test_a_sweep_is_a_table_and_a_picture(tmp_path: Path) -> None:
    names = [metric.name for metric in ASR_SWEEP.metrics]
    setting = Setting(300, 2, 8)
    found = {f"{name}.{setting.name}": 0.5 for name in names}
    assert points(found) == [setting]
    assert "| 2 | 8 | 300 | 50.0 | 0 / 0 | 50 | 50.0 | 50 |" in table(result("asr_sweep", **found))
    draw(found, tmp_path / "sweep.svg")
    first = (tmp_path / "sweep.svg").read_bytes()
    draw(found, tmp_path / "sweep.svg")
    assert (tmp_path / "sweep.svg").read_bytes() == first


@pytest.mark.models
def test_a_question_is_heard_on_a_clock_that_skips(recordings: Path) -> None:
    config = load_config(None, ["asr.threads=1", "turn.threads=1"])
    clip = next(clip for clip in read_clips(recordings) if clip.name == "cars")
    with Live(config, Clock(live=False), lanes=2) as live:
        first, second = live.hear(clip, clip)
        reader = Reader.of(live.asr.bridge, config)
    for hearing in (first, second):
        text = " ".join(word for word, _ in reader.words(held(hearing.slots)))
        assert text == "How many cars are there in the picture?"
        assert [event.event for event in hearing.marks][-1] is Event.RELEASE
