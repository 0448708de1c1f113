"""Starts the programs, watches over them, and ends them."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pipeline.config import Config
from pipeline.errors import SessionError, StageError, VoxringError
from pipeline.keeper import Keeper
from pipeline.process import Process, Progress, interpreter
from pipeline.version import VERSION
from ringbuf import VERSION as LAYOUT_VERSION
from ringbuf import Arena, BellPipe
from stages.topology import AUDIO, CONTROL, STAGES, topology

T = TypeVar("T")
TERMINATE_S = 0.7  # for programs to end by themselves; Ctrl-C ends everything within 2 s


class Supervisor:
    """The programs of one pipeline, from start to end.

    Args:
        config: the whole configuration.
        on_progress: told what each program does while it starts.

    Attributes:
        arena: this process's view of the shared memory.
        failure: set when a stage has died too often, or the pipeline has ended.
        on_death, on_back: told when a stage has died (with the cause) and when it is ready again.
        away: stages that have died and are not back yet.
        used_lanes: that have ever been open: all look at them again when a stage dies or returns.
    """

    def __init__(self, config: Config, on_progress: Progress) -> None:
        self.config = config
        text = config.model_dump_json().encode()
        self.layout = topology(config.pipeline.lanes, config.llm.context, len(text))
        self.bells = {name: BellPipe.create() for name in self.layout.processes}
        try:
            self.arena = Arena.create(self.layout, CONTROL, self.bells, text)
        except BaseException:
            self._close_bells()
            raise
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.processes: dict[str, Process] = {}
        self._tell_nobody()
        self.away: set[str] = set()
        self.used_lanes: set[int] = set()
        self._on_progress = on_progress
        self._lifeline, self._lifeline_end = os.pipe()
        self._watch: asyncio.Task[None] | None = None

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that are programs; with the edge "client", `audio` is not."""
        return tuple(s for s in STAGES if s != AUDIO or self.config.audio.stage != "client")

    async def start(self) -> None:
        """Bring the models, then start every stage and wait until all are ready.

        Raises:
            StageError: one could not start, or was not ready in time; everything is ended.
        """
        try:
            async with asyncio.timeout(self.config.pipeline.ready_timeout_s):
                await self._prepare()
                for stage in self.stages:
                    self._start_stage(stage)
                await self._all_ready()
        except TimeoutError:
            late = [n for n, p in self.processes.items() if not p.ready.done()]
            raise StageError(
                f"{', '.join(late)} not ready after {self.config.pipeline.ready_timeout_s:.0f} s",
                "Raise pipeline.ready_timeout_s if the machine is slow",
            ) from None
        self._watch = asyncio.create_task(self._watch_over())

    async def stop(self) -> None:
        """End every program and give everything back; safe to call at any time, and twice."""
        try:
            watch, self._watch = self._watch, None
            if watch:
                watch.cancel()
                await asyncio.gather(watch, return_exceptions=True)
            await self._all_gone(signal.SIGTERM)
        finally:  # whatever happens above, nothing of ours lives on
            for process in self.processes.values():
                process.end(signal.SIGKILL)
            self._fail(SessionError("the pipeline has ended"))
            self._tell_nobody()  # let go of whoever listened: its memory is to go with it
            self._close_descriptors()
        await self._all_gone(signal.SIGKILL)
        self.processes.clear()

    def _tell_nobody(self) -> None:
        self.on_death: Callable[[str, str], None] = lambda stage, cause: None
        self.on_back: Callable[[str], None] = lambda stage: None

    async def _all_gone(self, sig: signal.Signals) -> None:
        """Signal every program and give them a moment."""
        started = [process for process in self.processes.values() if process.pid]
        for process in started:
            process.end(sig)
        await asyncio.gather(*(process.gone(TERMINATE_S) for process in started))

    async def unless_failed(self, work: Awaitable[T]) -> T:
        """Wait for `work`, or for the failure of a stage, whichever comes first.

        Raises:
            StageError: a stage has died or hangs.
        """
        task = asyncio.ensure_future(work)
        either: set[asyncio.Future[Any]] = {task, self.failure}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self.failure.result()
            return await task
        finally:
            task.cancel()

    async def _prepare(self) -> None:
        process = self._process("models", "cannot be prepared")
        process.start(
            [interpreter(""), "-P", "-m", "pipeline.prepare"],
            {"lifeline": str(self._lifeline)},
            [self._lifeline],
            {},
            stdin=self.config.model_dump_json().encode(),
        )
        await asyncio.shield(process.ready)
        await process.dead.wait()
        del self.processes["models"]

    def _start_stage(self, stage: str) -> Process:
        section = self.config.section(stage)
        fds = {"arena": str(self.arena.fd), "lifeline": str(self._lifeline)}
        inherited = [self.arena.fd, self._lifeline, self.bells[stage].read_fd]
        for name, bell in self.bells.items():
            fds[name] = f"{bell.read_fd if name == stage else -1}:{bell.write_fd}"
            inherited.append(bell.write_fd)
        command = [interpreter(section.python), "-P", "-m", "stages.run", "--stage", stage]
        process = self._process(stage)
        process.start(command, fds, inherited, environment(section.threads))
        return process

    def _process(self, name: str, trouble: str = "could not start") -> Process:
        process = Process(name, self._on_progress, trouble)
        self.processes[name] = process
        return process

    async def _all_ready(self) -> None:
        await asyncio.gather(*map(self._ready, self.processes.values()))

    async def _ready(self, process: Process) -> None:
        message = await asyncio.shield(process.ready)  # others look at it too
        seen = (message["ready"], message["layout"])
        if seen != (VERSION, LAYOUT_VERSION):
            raise StageError(
                f"{process.name} runs voxring {seen[0]} with layout {seen[1]}, "
                f"this is {VERSION} with layout {LAYOUT_VERSION}",
                "Install the same voxring in its interpreter",
            )

    async def _watch_over(self) -> None:
        """Keep every stage running; the first that must be given up is the end."""
        keepers = {
            asyncio.create_task(self._keeper(stage).keep(self.processes[stage]))
            for stage in self.stages
        }
        try:
            done, _ = await asyncio.wait(keepers, return_when=asyncio.FIRST_COMPLETED)
            self._fail(done.pop().result())
        finally:
            for keeper in keepers:
                keeper.cancel()

    def _keeper(self, stage: str) -> Keeper:
        bell = self.arena.bell_of(stage)
        return Keeper(
            stage,
            lambda: self._start_again(stage),
            lambda: bell.beat,
            self.config.pipeline,
            self._stage_died,
            self._stage_back,
        )

    def _start_again(self, stage: str) -> Process:
        self.arena.mark_alive(stage, self.used_lanes)
        return self._start_stage(stage)

    def _stage_died(self, stage: str, cause: str) -> None:
        self.away.add(stage)
        self.arena.mark_dead(stage, self.used_lanes)
        self.on_death(stage, cause)

    def _stage_back(self, stage: str) -> None:
        self.away.discard(stage)
        self.on_back(stage)

    def _fail(self, error: VoxringError) -> None:
        if not self.failure.done():
            self.failure.set_exception(error)
            self.failure.exception()  # looked at: nobody need be waiting

    def _close_bells(self) -> None:
        for bell in self.bells.values():
            bell.close()
        self.bells.clear()

    def _close_descriptors(self) -> None:
        self.arena.close()
        self._close_bells()
        for fd in (self._lifeline, self._lifeline_end):
            if fd >= 0:
                os.close(fd)
        self._lifeline = self._lifeline_end = -1


def environment(threads: int) -> dict[str, str]:
    """What libraries read at start: their share of the cores, to wait quietly, to tell nobody."""
    count = str(threads)
    return {
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OMP_WAIT_POLICY": "PASSIVE",
        "KMP_BLOCKTIME": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime calls home and keeps a device id in ~/.cache
        "TRANSFORMERS_VERBOSITY": "error",
    }
