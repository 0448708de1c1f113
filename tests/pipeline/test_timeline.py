"""Where the milliseconds went: event records in, phases out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.timeline import Collector, Timeline
from ringbuf import EventRecord
from stages.event import Event
from stages.outcome import Outcome

MS = 1_000_000


def record(event: Event, ms: float, turn: int = 1, answer: int = 1, value: int = 0) -> EventRecord:
    return EventRecord(0, turn, answer, event, int(ms * MS), value)


TURN = [
    record(Event.CLIP_START, 1000, 0, 0),
    record(Event.SPEECH_END, 3000, 0, 0, value=1000 * MS),
    record(Event.SPEECH_START, 1500),
    record(Event.SILENCE, 2000),
    record(Event.SILENCE, 3090),
    record(Event.SOFT_END, 3150),
    record(Event.DECODE_START, 3151),
    record(Event.FINAL, 3250, value=7),
    record(Event.PREFILL, 3300, value=9),
    record(Event.FIRST_ID, 3350),
    record(Event.FIRST_WORDS, 3400),
    record(Event.FIRST_SOUND, 3500),
    record(Event.RELEASE, 3650),
    record(Event.PLAY_START, 3651),
    record(Event.FIRST_AUDIO, 3660),
    record(Event.LAST_ID, 4000),
    record(Event.PLAY_END, 5000),
    record(Event.OUTCOME, 5001),
]


def finish(records: list[EventRecord], outcome: Outcome = Outcome.ANSWERED) -> Timeline:
    collector = Collector()
    collector.add(records)
    return collector.finish(0, 1, 1, outcome, 0)


def test_phases_are_counted_from_the_end_of_speech() -> None:
    timeline = finish(TURN)
    assert timeline.first_audio_ms == 660
    assert timeline.phases == {
        "silence": 90,
        "soft_end": 150,
        "decode_start": 151,
        "transcript": 250,
        "prefill": 300,
        "first_id": 350,
        "first_words": 400,
        "first_sound": 500,
        "release": 650,
        "first_audio": 660,
        "last_id": 1000,
        "play_end": 2000,
    }
    assert timeline.speech_end_source == "clip"


def test_ids_that_came_early_are_counted_over_the_whole_turn() -> None:
    words = [r for r in TURN if r.event != Event.PREFILL]
    early = [EventRecord(0, 1, 0, Event.COMMIT, at, value) for at, value in ((1, 3), (2, 5))]
    prefilled = EventRecord(0, 1, 1, Event.PREFILL, 3_300_000_000, 7)
    assert finish([*early, *words, prefilled]).early == (5, 7)
    assert finish([*words, prefilled]).early == (0, 7)
    assert finish(words).early is None


@given(st.permutations(TURN))
def test_the_order_of_collection_does_not_matter(records: list[EventRecord]) -> None:
    assert finish(records) == finish(TURN)


def test_answers_that_were_dropped_do_not_count() -> None:
    earlier = [
        record(Event.SOFT_END, 2100, answer=0),
        record(Event.FIRST_ID, 2200, answer=0),
        record(Event.RESUME, 2300),
    ]
    assert finish([*earlier, *TURN]).phases == finish(TURN).phases


def test_a_live_turn_has_the_detectors_estimate() -> None:
    live = [r for r in TURN if r.event not in (Event.CLIP_START, Event.SPEECH_END)]
    timeline = finish(live)
    assert timeline.speech_end_source == "vad"
    assert timeline.speech_end == (3090 - 32) * MS


def test_a_turn_long_after_a_clip_is_not_the_clips() -> None:
    late = [r for r in TURN if r.event != Event.SPEECH_START]
    assert finish([*late, record(Event.SPEECH_START, 9000)]).speech_end_source == "vad"


def test_an_answer_released_too_early_is_a_cut_off_and_no_sample() -> None:
    late_end = [r for r in TURN if r.event != Event.SPEECH_END]
    timeline = finish([*late_end, record(Event.SPEECH_END, 4000, 0, 0, value=1000 * MS)])
    assert timeline.cut_off
    assert timeline.phases["first_audio"] == -340
    assert timeline.first_audio_ms is None


@pytest.mark.parametrize(("at", "counts"), [(4000, False), (4700, True)])
def test_first_audio_counts_only_without_a_gap_in_its_first_second(at: int, counts: bool) -> None:
    timeline = finish([*TURN, record(Event.UNDERRUN, at, value=30 * MS)])
    assert timeline.underruns == ((at * MS, 30 * MS),)
    assert timeline.voice_late == ()
    assert (timeline.first_audio_ms is not None) is counts


@pytest.mark.parametrize("outcome", [Outcome.EMPTY, Outcome.NO_SPEECH, Outcome.TIMED_OUT])
def test_turns_without_an_answer_give_no_sample(outcome: Outcome) -> None:
    assert finish(TURN, outcome).first_audio_ms is None


def test_a_turn_of_which_nothing_is_known() -> None:
    timeline = finish([], Outcome.TIMED_OUT)
    assert (timeline.phases, timeline.first_audio_ms, timeline.cut_off) == ({}, None, False)


def test_turns_and_lanes_do_not_mix() -> None:
    collector = Collector()
    other_lane = [EventRecord(1, r.turn, r.answer, r.event, r.at + 5, r.value) for r in TURN]
    second = [
        EventRecord(0, 2, 2, r.event, r.at + 9000 * MS, r.value)
        for r in TURN
        if r.event not in (Event.CLIP_START, Event.SPEECH_END)
    ]
    collector.add([*TURN, *other_lane, *second])
    assert collector.finish(0, 1, 1, Outcome.ANSWERED, 0).phases == finish(TURN).phases
    assert collector.finish(1, 1, 1, Outcome.ANSWERED, 0).first_audio_ms == 660
    assert collector.finish(0, 2, 2, Outcome.ANSWERED, 0).speech_end_source == "vad"


def test_a_new_conversation_forgets_the_old_one() -> None:
    collector = Collector()
    collector.add(TURN)
    collector.forget(0)
    assert collector.finish(0, 1, 1, Outcome.ANSWERED, 0).at == {}


def test_a_late_voice_is_told_from_missing_words() -> None:
    assert finish([*TURN, record(Event.VOICE_LATE, 4000, value=80 * MS)]).voice_late == (
        (4000 * MS, 80 * MS),
    )


def test_answers_that_were_prepared_in_vain_are_counted() -> None:
    vain = [record(Event.DROPPED, 2100, answer=7, value=3), record(Event.DROPPED, 2200, answer=8)]
    other = record(Event.DROPPED, 2300, turn=2, answer=9, value=5)
    assert finish([*TURN, *vain, other]).dropped == (3, 0)
