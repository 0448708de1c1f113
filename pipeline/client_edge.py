"""The calling program as the edge: the `audio` process is this one, under asyncio."""

import asyncio
import os
import time

import numpy as np
from numpy.typing import NDArray

from pipeline.client_lane import ClientLane
from pipeline.events import Sound
from pipeline.supervisor import Supervisor
from ringbuf import Arena, BellWatch
from stages.audio.client import ClientAudio, ClientSession
from stages.runner import Runner
from stages.stage import Host
from stages.topology import AUDIO

POLL_S = 0.02  # how soon a full microphone ring is tried again


class ClientEdge:
    """Runs the audio stage inside this process, stepped by the event loop.

    Args:
        supervisor: of the other stages.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        config = supervisor.config
        self._arena = Arena.attach(os.dup(supervisor.arena.fd), AUDIO, supervisor.bells)
        host = Host(config, config.audio, time.monotonic_ns, lambda text, fraction: None)
        self._runner = Runner(ClientAudio(host), self._arena, time.monotonic_ns)
        self._timer: asyncio.TimerHandle | None = None
        self._watch = BellWatch(self._arena.bell, self._step)

    def stop(self) -> None:
        """Hear and say nothing more."""
        if self._timer:
            self._timer.cancel()
        self._watch.stop()
        self._arena.close()

    def attach(self, lane: ClientLane) -> None:
        """Sound of this lane goes to its program."""
        self._session(lane).on_sound = lambda samples, rate: lane.tell(Sound(samples, rate))
        lane.feeder = self.feed

    async def feed(self, lane: ClientLane, samples: NDArray[np.int16]) -> None:
        """Say something into the microphone; waits while it is too far ahead."""
        session = self._session(lane)
        session.feed(samples)
        self._step([lane.number])
        while session.is_behind:
            await asyncio.sleep(POLL_S)

    def _session(self, lane: ClientLane) -> ClientSession:
        session = self._runner.sessions[lane.number]
        assert isinstance(session, ClientSession)
        return session

    def _step(self, lanes: list[int]) -> None:
        self._runner.turn_over(lanes)
        if self._timer:
            self._timer.cancel()
        delay = self._runner.until_due()
        self._timer = asyncio.get_running_loop().call_later(delay, self._step, [])
