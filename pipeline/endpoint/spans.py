"""A turn as OpenTelemetry spans: one for the turn, one for each stage's part of it.

Off unless `serve.traces` is set; needs the extra `otel`. Where spans go is said by the standard
variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`, …). No text is in them.
"""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pipeline.errors import ConfigError
from pipeline.timeline import Timeline
from stages.event import Event
from stages.outcome import Outcome

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

# The part of each stage, from the first event that is there to the last that is.
PARTS: dict[str, tuple[tuple[Event, ...], tuple[Event, ...]]] = {
    "listen": ((Event.SPEECH_START,), (Event.RELEASE, Event.SOFT_END, Event.SILENCE)),
    "asr": ((Event.DECODE_START,), (Event.FINAL,)),
    "llm": ((Event.FINAL,), (Event.LAST_ID, Event.FIRST_ID, Event.PREFILL)),
    "tts": ((Event.FIRST_WORDS, Event.FIRST_ID), (Event.LAST_SOUND, Event.FIRST_SOUND)),
    "play": ((Event.PLAY_START,), (Event.PLAY_END, Event.FIRST_AUDIO)),
}


class Spans:
    """Writes the spans of turns that have ended.

    Args:
        tracer: where they go.
        flush: sends what has not been sent.
    """

    def __init__(self, tracer: "Tracer", flush: Callable[[], object] = lambda: None) -> None:
        self._tracer = tracer
        self.close = flush

    def turn(self, timeline: Timeline, session: str) -> None:
        """A turn has ended."""
        if not timeline.at:
            return
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        ahead = time.time_ns() - time.monotonic_ns()  # of the wall clock
        begin, end = min(timeline.at.values()), max(timeline.at.values())
        attributes: dict[str, Any] = {
            "voxring.session": session,
            "voxring.lane": timeline.lane,
            "voxring.turn": timeline.turn,
            "voxring.answer": timeline.answer,
            "voxring.outcome": timeline.outcome.label,
        }
        if timeline.first_audio_ms is not None:
            attributes["voxring.first_audio_ms"] = timeline.first_audio_ms
        whole = self._tracer.start_span("turn", start_time=begin + ahead, attributes=attributes)
        if timeline.outcome in (Outcome.FAILED, Outcome.TIMED_OUT):
            whole.set_status(Status(StatusCode.ERROR, timeline.outcome.label))
        context = set_span_in_context(whole)
        for name, (first, last) in parts(timeline).items():
            span = self._tracer.start_span(name, context=context, start_time=first + ahead)
            span.end(end_time=last + ahead)
        whole.end(end_time=end + ahead)


def parts(timeline: Timeline) -> dict[str, tuple[int, int]]:
    """Of each stage that took part, from when to when, monotonic ns: pure."""
    found = {}
    for name, (begins, ends) in PARTS.items():
        begin = next((timeline.at[event] for event in begins if event in timeline.at), None)
        end = next((timeline.at[event] for event in ends if event in timeline.at), None)
        if begin is not None and end is not None and begin <= end:
            found[name] = (begin, end)
    return found


def spans_to_collector() -> Spans:
    """Spans that go where the environment says.

    Raises:
        ConfigError: the extra is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ConfigError(
            "serve.traces needs OpenTelemetry, which is not installed",
            "Run: pip install 'voxring[otel]'",
        ) from None
    name = os.environ.get("OTEL_SERVICE_NAME", "voxring")
    resource = Resource.create({"service.name": name})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)  # `Spans.close` does it
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Spans(provider.get_tracer("voxring"), provider.shutdown)
