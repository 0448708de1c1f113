"""A turn as spans, and as metrics, from its timeline."""

from dataclasses import replace

import pytest

from pipeline.endpoint.metrics import Metrics
from pipeline.endpoint.spans import Spans, parts
from pipeline.events import TurnEnded
from pipeline.timeline import Timeline
from stages.event import Event
from stages.outcome import Outcome

MS = 1_000_000
AT = {
    Event.SPEECH_START: 1000 * MS,
    Event.SILENCE: 2032 * MS,
    Event.DECODE_START: 2040 * MS,
    Event.FINAL: 2100 * MS,
    Event.RELEASE: 2300 * MS,
    Event.PREFILL: 2110 * MS,
    Event.FIRST_ID: 2120 * MS,
    Event.FIRST_WORDS: 2130 * MS,
    Event.LAST_ID: 2500 * MS,
    Event.FIRST_SOUND: 2150 * MS,
    Event.LAST_SOUND: 2600 * MS,
    Event.PLAY_START: 2300 * MS,
    Event.FIRST_AUDIO: 2310 * MS,
    Event.PLAY_END: 4000 * MS,
}
TURN = Timeline(
    lane=2,
    turn=3,
    answer=4,
    outcome=Outcome.ANSWERED,
    at=AT,
    values={Event.PREFILL: 7, Event.LAST_ID: 11},
    speech_end=2000 * MS,
    speech_end_source="vad",
    underruns=((3500 * MS, 5 * MS),),
    voice_late=((3500 * MS, 5 * MS),),
)


def test_each_stage_has_its_part() -> None:
    assert parts(TURN) == {
        "listen": (1000 * MS, 2300 * MS),
        "asr": (2040 * MS, 2100 * MS),
        "llm": (2100 * MS, 2500 * MS),
        "tts": (2130 * MS, 2600 * MS),
        "play": (2300 * MS, 4000 * MS),
    }
    cut = {event: at for event, at in AT.items() if event <= Event.DECODE_START}
    assert set(parts(replace(TURN, at=cut))) == {"listen"}
    assert parts(replace(TURN, at={})) == {}


def test_a_turn_is_a_span_with_its_stages_below() -> None:
    pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(provider.get_tracer("test"))
    spans.turn(TURN, "abc")
    spans.turn(replace(TURN, outcome=Outcome.FAILED, at={}), "abc")
    found = {span.name: span for span in exporter.get_finished_spans()}
    assert set(found) == {"turn", "listen", "asr", "llm", "tts", "play"}
    whole = found.pop("turn")
    assert whole.attributes["voxring.lane"] == 2
    assert whole.attributes["voxring.outcome"] == "answered"
    assert whole.end_time - whole.start_time == 3000 * MS
    for name, span in found.items():
        assert span.parent.span_id == whole.context.span_id
        begin, end = parts(TURN)[name]
        assert (span.start_time - whole.start_time, span.end_time - span.start_time) == (
            begin - 1000 * MS,
            end - begin,
        )
    provider.shutdown()


def test_a_turn_counts_in_the_metrics() -> None:
    metrics = Metrics()
    metrics.turn(TurnEnded(TURN, "what", "that", "that"))
    early = replace(TURN, speech_end=2400 * MS, outcome=Outcome.INTERRUPTED)
    metrics.turn(TurnEnded(early, "", "", ""))
    value = metrics.registry.get_sample_value
    assert value("voxring_turns_total", {"outcome": "answered"}) == 1
    assert value("voxring_turns_total", {"outcome": "timed_out"}) == 0
    assert value("voxring_first_audio_seconds_sum") == pytest.approx(0.310)
    assert value("voxring_first_audio_seconds_count") == 1, "a cut-off is no latency"
    assert value("voxring_phase_seconds_count", {"phase": "release"}) == 1
    assert value("voxring_underruns_total") == 2
    assert value("voxring_tokens_total", {"direction": "heard"}) == 14
    assert value("voxring_tokens_total", {"direction": "reply"}) == 22
