"""What the parts of one server share: whether anybody may come in, and what has happened so far."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Mapping

from pipeline.config import Config, usable_cores
from pipeline.endpoint.load import LOOK_S, Load, cpu_ns
from pipeline.endpoint.metrics import Metrics
from pipeline.endpoint.places import NoPlaceError, Place, Places
from pipeline.endpoint.session import Session
from pipeline.endpoint.spans import Spans, spans_to_collector
from pipeline.events import Event, TurnEnded
from pipeline.pipeline import Pipeline
from pipeline.version import VERSION
from ringbuf import Closed

SPANS_S = 1.0  # for the last spans to be sent
RINGS = ("mic", "speech", "heard", "reply", "voice")


class State:
    """One server's.

    Args:
        config: the whole configuration.
        restarts: how often the program of this server has died before.

    Attributes:
        pipeline: once it is ready.
        is_draining: nobody may come in any more.
    """

    def __init__(self, config: Config, restarts: int = 0) -> None:
        self.config = config
        self.pipeline: Pipeline | None = None
        self.is_draining = False
        self.metrics = Metrics()
        self.load = Load(usable_cores(), config.serve.max_load)
        self.places = Places(self._most, config.serve.sessions_per_token)
        self._spans: Spans | None = spans_to_collector() if config.serve.traces else None
        self._deaths: dict[str, int] = {}
        self.metrics.watch(self._gauges)
        self.metrics.restarts.labels("edge").inc(restarts)

    @property
    def is_ready(self) -> bool:
        """Conversations may begin."""
        return self.pipeline is not None and not self.is_draining

    def take_place(self, owner: str) -> Place:
        """Hold a place for somebody.

        Raises:
            NoPlaceError: there is none, or the machine is busy.
        """
        if not self.load.has_room(time.monotonic(), self.places.taken):
            raise NoPlaceError("the machine is busy with the conversations that it has")
        return self.places.take(owner)

    def health(self) -> dict[str, object]:
        """What `/health` tells."""
        has_room = self.load.has_room(time.monotonic(), self.places.taken)
        return {
            "live": True,
            "ready": self.is_ready,
            "draining": self.is_draining,
            "places": self.places.free if self.is_ready and has_room else 0,
            "away": sorted(self.pipeline.away) if self.pipeline else [],
            "version": VERSION,
        }

    def observe(self, session: Session, event: Event) -> None:
        """Something happened in a conversation."""
        if isinstance(event, TurnEnded):
            self.metrics.turn(event)
            if event.timeline.voice_late:
                self.load.was_late(time.monotonic())
            if self._spans:
                self._spans.turn(event.timeline, session.name)

    async def close(self) -> None:
        """Send the last spans; a collector that does not take them is not waited for."""
        if self._spans:
            spans, self._spans = self._spans, None
            # A thread of its own: those of the loop are waited for when it ends.
            sender = threading.Thread(target=spans.close, daemon=True)
            sender.start()
            deadline = time.monotonic() + SPANS_S
            while sender.is_alive() and time.monotonic() < deadline:
                await asyncio.sleep(0.02)

    async def watch(self) -> None:
        """Measure, until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.metrics.watch_loop())
            tasks.create_task(self._watch_load())

    async def _watch_load(self) -> None:
        while True:
            if self.pipeline:
                used = cpu_ns([os.getpid(), *self.pipeline.stages.values()])
                self.load.look(time.monotonic(), used, self.places.taken)
                self._count_deaths(self.pipeline)
            await asyncio.sleep(LOOK_S)

    def _count_deaths(self, pipeline: Pipeline) -> None:
        for stage, deaths in pipeline.deaths.items():
            new = deaths - self._deaths.get(stage, 0)
            self._deaths[stage] = deaths
            self.metrics.restarts.labels(stage).inc(new)

    def _most(self) -> int:
        lanes, most = self.config.pipeline.lanes, self.config.serve.max_speakers
        return min(lanes, most) if most else lanes

    def _gauges(self) -> Mapping[str, Mapping[str, float]]:
        """What `/metrics` looks at when it is asked."""
        if self.pipeline is None:
            return {}
        self._count_deaths(self.pipeline)
        lanes = self.config.pipeline.lanes
        used = len(self.pipeline.lanes)
        return {
            "voxring_lanes": {"used": used, "free": lanes - used},
            "voxring_ring_fill_ratio": _fill(self.pipeline),
            "voxring_stages_away": dict.fromkeys(self.pipeline.away, 1),
            "voxring_load_ratio": {"cores": self.load.share},
        }


def _fill(pipeline: Pipeline) -> dict[str, float]:
    """How full the fullest ring of each kind is, over all open lanes."""
    fullest = dict.fromkeys(RINGS, 0.0)
    for lane in pipeline.lanes:
        for name in RINGS:
            with contextlib.suppress(Closed):
                ring = lane.lane.rings[name]
                fullest[name] = max(fullest[name], len(ring) / ring.spec.capacity)
    return fullest
