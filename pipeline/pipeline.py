"""The Python API: a pipeline of programs, and conversations on it."""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pipeline.client_edge import ClientEdge
from pipeline.client_lane import ClientLane
from pipeline.config import Config
from pipeline.errors import SessionError, VoxringError
from pipeline.output import check_writable
from pipeline.session_name import session_file
from pipeline.sessions import Sessions
from pipeline.supervisor import Supervisor
from pipeline.timeline import Collector, Timeline
from pipeline.tokenizer import vocabulary_for
from pipeline.transcript import Transcript
from pipeline.transcript_file import TranscriptFile
from ringbuf import BellWatch, EventRecord, Lane
from stages.audio.device.sound_devices import check as check_devices
from stages.outcome import Outcome

T = TypeVar("T")
Progress = Callable[[str, str, float | None], None]
CLOSE_S = 1.0  # for conversations to be closed when the block is left
log = logging.getLogger(__name__)


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

    Attributes:
        on_records: gets what the stages record, of all lanes, as it is collected: at the end of
            each turn, and by `collect`.

    Raises:
        OutputError: on entry, if a folder for transcripts or recordings cannot be written to.
        AudioError: on entry, if the sound devices that are meant are not there.
        StageError: on entry, if a stage cannot start; later, from whatever waits, if one dies.
    """

    def __init__(self, config: Config, on_progress: Progress = silent) -> None:
        self.config = config
        self.on_records: Callable[[Sequence[EventRecord]], None] = lambda records: None
        self._on_progress = on_progress
        self._lanes: dict[int, ClientLane] = {}
        self._collector = Collector()
        self._lost = 0  # event records, told already
        self._supervisor: Supervisor | None = None
        self._watch: BellWatch | None = None
        self._edge: ClientEdge | None = None
        self._deaths: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        self._check_folders()
        if self.config.audio.stage == "device":
            await check_devices(self.config.audio)
        supervisor = self._supervisor = Supervisor(self.config, self._on_progress)
        try:
            await supervisor.start()
            self._vocabulary = vocabulary_for(self.config, lambda text, fraction: None)
            self._sessions = Sessions(supervisor)
            self._rings = [supervisor.arena.events(name) for name in supervisor.layout.processes]
            self._watch = BellWatch(supervisor.arena.bell, self._rung)
            if self.config.audio.stage == "client":
                self._edge = ClientEdge(supervisor)
        except BaseException:
            await self._stop()
            raise
        supervisor.failure.add_done_callback(self._ended)
        supervisor.on_death = self._stage_died
        supervisor.on_back = self._stage_back
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._close_lanes()
        finally:
            await self._stop()

    @property
    def stages(self) -> dict[str, int]:
        """Process id of each stage that is a program."""
        processes = self._supervisor.processes if self._supervisor else {}
        return {name: process.pid for name, process in processes.items()}

    @property
    def lanes(self) -> tuple[ClientLane, ...]:
        """Conversations that are open."""
        return tuple(self._lanes.values())

    @property
    def deaths(self) -> dict[str, int]:
        """How often each stage has died so far, those that never have left out."""
        return dict(self._deaths)

    @property
    def away(self) -> frozenset[str]:
        """Stages that have died and are being started again."""
        return frozenset(self._supervisor.away if self._supervisor else ())

    async def unless_failed(self, work: Awaitable[T]) -> T:
        """Wait for `work`, or for the failure of a stage, whichever comes first.

        Raises:
            StageError: a stage has died too often.
            SessionError: the pipeline is not running.
        """
        return await self._running().unless_failed(work)

    async def open(self, *, instructions: str | None = None, lead_ms: int = 0) -> ClientLane:
        """Begin a conversation.

        Args:
            instructions: the system prompt, if it is not the configured one (edge "client").
            lead_ms: how long before it is to be heard sound is told, at most (edge "client"); for
                a network between here and the loudspeaker.

        Raises:
            AudioError: the instructions are too long, or this pipeline's edge is not "client".
            SessionError: all lanes are in use, a stage refused, or the pipeline is not running.
            StageError: a stage has died.
        """
        self._running()
        shared = await self._sessions.open()
        self.collect()
        self._collector.forget(shared.number)
        lane = ClientLane(shared, self._vocabulary, self._finish, self._release, self._close)
        lane.transcript = self._transcript(shared)
        lane.has_device = self.config.audio.stage == "device"
        self._lanes[shared.number] = lane
        if self._edge:
            lane.edge = self._edge.attach(shared.number, lane.sounds, lead_ms)
        if instructions is not None:
            try:
                lane.instruct(instructions)
            except VoxringError:
                self._release(lane)
                raise
        shared.set("attended", shared.get("session"))
        return lane

    def collect(self) -> None:
        """Take what the stages have recorded until now."""
        for ring in self._rings:
            records = ring.take()
            self._collector.add(records)
            self.on_records(records)

    def _check_folders(self) -> None:
        """Those for what is kept of conversations are for their owner alone."""
        config = self.config
        kept = {
            "pipeline.transcripts": config.pipeline.transcripts,
            "audio.record": config.audio.record,
        }
        for key, folder in kept.items():
            if folder:
                check_writable(Path(folder).expanduser(), key, mode=0o700)

    def _transcript(self, lane: Lane) -> TranscriptFile | None:
        folder, opened = self.config.pipeline.transcripts, lane.get("opened")
        if not folder:
            return None
        path = session_file(folder, opened, lane.number, ".jsonl")
        ahead = time.time_ns() - time.monotonic_ns()
        return TranscriptFile(path, Transcript(opened, ahead), time.time_ns)

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise SessionError("this pipeline is not running", "Use it inside `async with`")
        if self._supervisor.failure.done():
            self._supervisor.failure.result()
        return self._supervisor

    async def _stop(self) -> None:
        """End everything; nothing of it may be left, whatever happened before."""
        try:
            if self._watch:
                self._watch.stop()
            if self._edge:
                self._edge.stop()
        finally:
            if self._supervisor:
                await self._supervisor.stop()

    async def _close_lanes(self) -> None:
        """Let stages finish what they write; one that cannot let go in time is ended anyway."""
        with contextlib.suppress(VoxringError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(*(lane.close() for lane in list(self._lanes.values())))

    def _release(self, lane: ClientLane) -> None:
        self._lanes.pop(lane.number, None)
        self._sessions.release(lane.lane)

    async def _close(self, lane: ClientLane) -> None:
        self._lanes.pop(lane.number, None)
        await self._sessions.close(lane.lane)

    def _rung(self, lanes: list[int]) -> None:
        for number in lanes:
            self._sessions.rung(number)
            if (lane := self._lanes.get(number)) is None:
                continue
            try:
                lane.rung()
            except Exception as error:  # one lane's fault is not the others'
                log.exception("lane %d told something that cannot be read", number)
                lane.tell(SessionError(f"what the stages told cannot be read: {error!r}"))

    def _finish(self, lane: int, turn: int, answer: int, outcome: Outcome) -> Timeline:
        self.collect()
        dropped = sum(ring.dropped for ring in self._rings)
        lost, self._lost = dropped - self._lost, dropped
        return self._collector.finish(lane, turn, answer, outcome, lost)

    def _stage_died(self, stage: str, cause: str) -> None:
        self._deaths[stage] += 1
        for lane in self._lanes.values():
            lane.lost(stage, cause)

    def _stage_back(self, stage: str) -> None:
        for lane in self._lanes.values():
            lane.back(stage)

    def _ended(self, failure: asyncio.Future[None]) -> None:
        """A stage has died, or the pipeline is over: tell everyone who waits."""
        error = failure.exception()
        assert isinstance(error, VoxringError)
        for lane in self._lanes.values():
            lane.tell(error)
