"""The calling program as the edge: the `audio` process is this one, under asyncio."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

import numpy as np
from numpy.typing import NDArray

from pipeline.bell_watch import BellWatch
from pipeline.errors import SessionError
from pipeline.supervisor import Supervisor
from ringbuf import Arena
from stages.audio.client import ClientAudio, ClientSession, SoundSink
from stages.runner import Runner
from stages.stage import Host
from stages.topology import AUDIO

POLL_S = 0.02  # how soon a full microphone ring is tried again
Feeder = Callable[[NDArray[np.int16]], Awaitable[None]]


class ClientEdge:
    """Runs the audio stage inside this process, stepped by the event loop.

    Args:
        supervisor: of the other stages.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        config = supervisor.config
        self._supervisor = supervisor
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

    def attach(self, number: int, on_sound: SoundSink) -> Feeder:
        """Give a lane's sound to its program, and what its microphone is fed with."""
        session = self._runner.sessions[number]
        assert isinstance(session, ClientSession)
        session.on_sound = on_sound

        async def feed(samples: NDArray[np.int16]) -> None:
            session.feed(samples)
            self._step([number])
            while session.is_behind:
                await self._supervisor.unless_failed(asyncio.sleep(POLL_S))
                if self._runner.sessions.get(number) is not session:
                    raise SessionError("this conversation was closed while it was fed")

        return feed

    def _step(self, lanes: list[int]) -> None:
        if self._timer:
            self._timer.cancel()
        try:
            self._runner.turn_over(lanes)
        finally:  # an error in one step must not stop the clock of every lane
            delay = self._runner.until_due()
            self._timer = asyncio.get_running_loop().call_later(delay, self._step, [])
