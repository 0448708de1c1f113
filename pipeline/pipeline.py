"""The Python API: a pipeline of programs, and conversations on it."""

import asyncio
import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Self

from pipeline.client_edge import ClientEdge
from pipeline.client_lane import ClientLane
from pipeline.config import Config
from pipeline.errors import StageError, VoxringError
from pipeline.sessions import Sessions
from pipeline.supervisor import Supervisor
from pipeline.timeline import Collector, Timeline
from pipeline.tokenizer import vocabulary_for
from ringbuf import BellWatch
from stages.outcome import Outcome

Progress = Callable[[str, str, float | None], None]


def silent(program: str, text: str, fraction: float | None) -> None:
    """Show no progress."""


class Pipeline:
    """Starts the stages of a configuration and ends them with the block.

        async with Pipeline(load_config()) as pipeline:
            async with await pipeline.open() as lane:
                lane.play(Path("question.wav"))
                async for event in lane:
                    ...

    Args:
        config: what to run.
        on_progress: gets (program, what it does, how far it is from 0 to 1 or None) while
            models are fetched and loaded.

    Raises:
        StageError: on entry, if a stage cannot start; later, from whatever waits, if one dies.
    """

    def __init__(self, config: Config, on_progress: Progress = silent) -> None:
        self.config = config
        self._on_progress = on_progress
        self._lanes: dict[int, ClientLane] = {}
        self._collector = Collector()

    async def __aenter__(self) -> Self:
        self._supervisor = Supervisor(self.config, self._on_progress)
        try:
            await self._supervisor.start()
            self._vocabulary = vocabulary_for(self.config, lambda text, fraction: None)
        except BaseException:
            await self._supervisor.stop()
            raise
        self._sessions = Sessions(self._supervisor)
        arena = self._supervisor.arena
        self._rings = [arena.events(stage) for stage in self._supervisor.layout.processes]
        self._watch = BellWatch(arena.bell, self._rung)
        self._edge = ClientEdge(self._supervisor) if self.config.audio.stage == "client" else None
        self._supervisor.failure.add_done_callback(self._stage_failed)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(VoxringError):  # a stage that is gone cannot let go
            async with asyncio.timeout(1):
                for lane in list(self._lanes.values()):
                    await lane.close()
        self._watch.stop()
        if self._edge:
            self._edge.stop()
        await self._supervisor.stop()

    @property
    def stages(self) -> dict[str, int]:
        """Process id of each stage."""
        return {name: process.pid for name, process in self._supervisor.processes.items()}

    async def open(self) -> ClientLane:
        """Begin a conversation.

        Raises:
            SessionError: all lanes are in use, or a stage refused.
            StageError: a stage has died.
        """
        shared = await self._sessions.open()
        self._collector.forget(shared.number)
        lane = ClientLane(shared, self._vocabulary, self._finish, self._close)
        self._lanes[shared.number] = lane
        if self._edge:
            self._edge.attach(lane)
        return lane

    async def _close(self, lane: ClientLane) -> None:
        del self._lanes[lane.number]
        await self._sessions.close(lane.lane)

    def _rung(self, lanes: list[int]) -> None:
        for number in lanes:
            self._sessions.rung(number)
            if number in self._lanes:
                self._lanes[number].rung()

    def _finish(self, lane: int, turn: int, answer: int, outcome: Outcome) -> Timeline:
        for ring in self._rings:
            self._collector.add(ring.take())
        lost = sum(ring.dropped for ring in self._rings)
        return self._collector.finish(lane, turn, answer, outcome, lost)

    def _stage_failed(self, failure: asyncio.Future[None]) -> None:
        if failure.cancelled():
            return
        error = failure.exception()
        assert isinstance(error, StageError)
        for lane in self._lanes.values():
            lane.tell(error)
