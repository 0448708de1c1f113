"""The calling program as the edge: the `audio` process is this one, under asyncio."""

import asyncio
import os
import time

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import SessionError
from pipeline.supervisor import Supervisor
from ringbuf import Arena, BellWatch
from stages.audio.client import ClientAudio, ClientSession, SoundSink
from stages.messages import Command
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
        self._supervisor = supervisor
        self._arena = Arena.attach(os.dup(supervisor.arena.fd), AUDIO, supervisor.bells)
        host = Host(config, config.audio, time.monotonic_ns, lambda text, fraction: None)
        self._runner = Runner(ClientAudio(host), self._arena, time.monotonic_ns)
        self._timer: asyncio.TimerHandle | None = None
        self._watch = BellWatch(self._arena.bell, self.step)

    def stop(self) -> None:
        """Hear and say nothing more."""
        if self._timer:
            self._timer.cancel()
        self._watch.stop()
        for session in self._runner.sessions.values():  # of lanes that nobody closed
            session.close()
        self._arena.close()

    def attach(self, number: int, on_sound: SoundSink, lead_ms: int) -> "LaneEdge":
        """Give a lane's sound to its program, and its microphone to whoever asked."""
        session = self._runner.sessions[number]
        assert isinstance(session, ClientSession)
        session.on_sound = on_sound
        session.lead(lead_ms * 1_000_000)
        return LaneEdge(self, number, session)

    def is_current(self, number: int, session: ClientSession) -> bool:
        """Whether this conversation still has its lane."""
        return self._runner.sessions.get(number) is session

    async def pause(self) -> None:
        """Wait a moment. Raises StageError if a stage has died."""
        await self._supervisor.unless_failed(asyncio.sleep(POLL_S))

    def step(self, lanes: list[int]) -> None:
        """Work on lanes that were rung, and on those whose time has come."""
        try:
            self._runner.turn_over(lanes)
        finally:  # an error in one step must not stop the clock of every lane
            self._wind()

    def schedule(self, number: int) -> None:
        """Something was done to a lane: look at it when its time comes."""
        self._runner.schedule(number)
        self._wind()

    def _wind(self) -> None:
        """Set the clock; one that would ring sooner, or not later by much, is left alone."""
        loop = asyncio.get_running_loop()
        at = loop.time() + self._runner.until_due()
        if self._timer and not self._timer.cancelled():
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.step([])


class LaneEdge:
    """The microphone of one conversation.

    Args:
        edge: that steps it.
        number: of its lane.
        session: the conversation itself, which may end before whoever holds this.
    """

    def __init__(self, edge: ClientEdge, number: int, session: ClientSession) -> None:
        self._edge = edge
        self._number = number
        self._session = session

    async def feed(self, samples: NDArray[np.int16]) -> None:
        """Say something; waits while too much is ahead."""
        is_scheduled = self._session.due is not None
        self._session.feed(samples)
        if not is_scheduled:
            self._edge.schedule(self._number)
        while self._session.is_behind:
            await self._edge.pause()
            if not self._edge.is_current(self._number, self._session):
                raise SessionError("this conversation was closed while it was fed")

    def command(self, command: Command, payload: bytes = b"") -> None:
        """Ask something of `turn`, behind what was fed before."""
        self._session.command(command, payload)

    def report(self, answer: int, samples: int, *, final: bool) -> None:
        """Tell how much of an answer the client has played."""
        self._session.report(answer, samples, final=final)
