"""What `/metrics` tells, in Prometheus' form, in a registry of its own."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from pipeline.events import TurnEnded
from stages.event import Event
from stages.outcome import Outcome

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PHASE_BUCKETS = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
SESSION_BUCKETS = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200)
LAG_S = 0.5  # between two looks at the event loop


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        to = self.registry
        self.turns = Counter("voxring_turns", "Turns by how they ended", ["outcome"], registry=to)
        self.phases = Histogram(
            "voxring_phase_seconds",
            "From the end of the user's speech to each milestone of a turn",
            ["phase"],
            buckets=PHASE_BUCKETS,
            registry=to,
        )
        self.first_audio = Histogram(
            "voxring_first_audio_seconds",
            "From the end of the user's speech to the first audible sound",
            buckets=PHASE_BUCKETS,
            registry=to,
        )
        self.underruns = Counter("voxring_underruns", "Gaps inside answers", registry=to)
        self.voice_late = Counter(
            "voxring_voice_late", "Gaps in which the voice knew what to say", registry=to
        )
        self.tokens = Counter("voxring_tokens", "Token ids", ["direction"], registry=to)
        self.restarts = Counter("voxring_restarts", "Deaths of stages", ["stage"], registry=to)
        self.sessions = Counter("voxring_sessions", "Conversations", ["protocol"], registry=to)
        self.session_seconds = Histogram(
            "voxring_session_seconds",
            "Length of conversations",
            buckets=SESSION_BUCKETS,
            registry=to,
        )
        self.refused = Counter("voxring_refused", "Requests not let in", ["status"], registry=to)
        self.closed = Counter(
            "voxring_closed", "Connections ended, by either side", ["code"], registry=to
        )
        self.dropped = Counter(
            "voxring_dropped_sound_seconds", "Sound left out for slow readers", registry=to
        )
        self.loop_lag = Gauge(
            "voxring_loop_lag_seconds", "How late the event loop wakes", registry=to
        )
        tasks = Gauge("voxring_tasks", "Tasks of the event loop", registry=to)
        tasks.set_function(lambda: len(asyncio.all_tasks()))
        threads = Gauge("voxring_threads", "Threads of this program", registry=to)
        threads.set_function(threading.active_count)
        ProcessCollector(registry=self.registry)
        for outcome in Outcome:  # what has not happened yet is told as 0
            self.turns.labels(outcome.label.replace(" ", "_"))

    def text(self) -> bytes:
        """The whole page."""
        return generate_latest(self.registry)

    def watch(self, states: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        """Tell something that is looked at only when somebody asks.

        Args:
            states: gives, by metric, its value for each label.
        """
        self.registry.register(_States(states))

    def turn(self, ended: TurnEnded) -> None:
        """A turn has ended."""
        timeline = ended.timeline
        self.turns.labels(timeline.outcome.label.replace(" ", "_")).inc()
        for phase, ms in timeline.phases.items():
            if ms >= 0:  # a negative one is a cut-off, and no latency
                self.phases.labels(phase).observe(ms / 1000)
        if timeline.first_audio_ms is not None:
            self.first_audio.observe(timeline.first_audio_ms / 1000)
        self.underruns.inc(len(timeline.underruns))
        self.voice_late.inc(len(timeline.voice_late or ()))
        self.tokens.labels("heard").inc(timeline.values.get(Event.PREFILL, 0))
        self.tokens.labels("reply").inc(timeline.values.get(Event.LAST_ID, 0))

    async def watch_loop(self) -> None:
        """Measure, for ever, how late the event loop wakes."""
        while True:
            due = time.monotonic() + LAG_S
            await asyncio.sleep(LAG_S)
            self.loop_lag.set(max(0.0, time.monotonic() - due))


class _States(Collector):
    """Gauges that are computed when they are read."""

    ABOUT: ClassVar = {
        "voxring_lanes": ("Lanes by state", "state"),
        "voxring_ring_fill_ratio": ("The fullest ring of all open lanes", "ring"),
        "voxring_stages_away": ("Stages that have died and are not back", "stage"),
        "voxring_load_ratio": ("Share of the cores that the pipeline used lately", "of"),
    }

    def __init__(self, states: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        self._states = states

    def describe(self) -> Iterable[Metric]:
        """What there may be, without looking."""
        return [GaugeMetricFamily(name, text) for name, (text, _) in self.ABOUT.items()]

    def collect(self) -> Iterable[Metric]:
        """What there is."""
        for name, values in self._states().items():
            text, label = self.ABOUT[name]
            family = GaugeMetricFamily(name, text, labels=[label])
            for value_of, value in values.items():
                family.add_metric([value_of], value)
            yield family
