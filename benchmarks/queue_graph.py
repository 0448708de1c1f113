"""The pipeline's own programs joined by queues: `multiprocessing.Queue`, or asyncio's in one.

Stages, sessions, their loop and the client are voxring's own. Only the arena is another one: each
process has one inbox, into which everybody else puts messages.
"""

import asyncio
import json
import multiprocessing
import os
import queue
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from multiprocessing.queues import Queue as ProcessQueue
from typing import Any, Self, TypeVar, cast

from benchmarks.queue_rings import Message, NoEvents, QueueLane
from pipeline.config import Config, validate
from pipeline.pipeline import Pipeline
from pipeline.sessions import Sessions
from pipeline.supervisor import Supervisor
from pipeline.tokenizer import vocabulary_for
from ringbuf import Layout, die_with_parent
from stages.run import find_stage
from stages.runner import Runner
from stages.stage import Host
from stages.topology import CONTROL, STAGES, topology

T = TypeVar("T")
READY = -1  # in place of a lane
END_S = 2.0


class QueueArena:
    """All lanes, as one process sees them.

    Args:
        me: this process.
        send: puts a message into another's inbox.
    """

    def __init__(self, layout: Layout, me: str, send: Callable[[str, Message], None]) -> None:
        self.layout = layout
        self.me = me
        self.rung: set[int] = set()
        self._send = send
        self._lanes: dict[int, QueueLane] = {}
        self._events = NoEvents()

    def lane(self, number: int) -> QueueLane:
        """One lane; always the same object."""
        if number not in self._lanes:
            self._lanes[number] = QueueLane(number, self.layout, self.me, self._send)
        return self._lanes[number]

    def events(self, process: str) -> NoEvents:
        """Nobody's."""
        return self._events

    def claim(self, lane: int) -> None:
        """Queues have no memory of their own."""

    give_back = claim

    def receive(self, message: Message) -> None:
        """Take a message out of the inbox."""
        number, name, what = message
        self.lane(number).receive(name, what)
        self.rung.add(number)

    def take(self) -> set[int]:
        """The lanes about which something has come."""
        rung, self.rung = self.rung, set()
        return rung


class ProcessBell:
    """How a process waits for its inbox.

    Args:
        arena: gets the messages.
        inbox: a `multiprocessing.Queue`.
    """

    beat = 0

    def __init__(self, arena: QueueArena, inbox: "ProcessQueue[Message]") -> None:
        self._arena = arena
        self._inbox = inbox

    def take(self) -> set[int]:
        """The lanes that were rung."""
        return self._arena.take()

    def park(self, seconds: float) -> None:
        """Sleep until a message comes, then take all there are."""
        try:
            self._arena.receive(self._inbox.get(timeout=seconds))
            self.drain()
        except queue.Empty:
            return

    def drain(self) -> None:
        """Take what is there."""
        while not self._inbox.empty():
            self._arena.receive(self._inbox.get())


def make_runner(stage: str, config: Config, arena: QueueArena) -> Runner:
    """A stage, loaded, over queues."""
    section = config.section(stage)
    host = Host(config, section, time.monotonic_ns, lambda text, fraction: None)
    made = find_stage(stage, section.stage)(host)
    made.load()
    return Runner(made, cast("Any", arena), time.monotonic_ns)


def run_stage(stage: str, text: str, inboxes: "dict[str, ProcessQueue[Message]]") -> None:
    """The program of one stage."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the client, which ends us
    config = validate(Config, json.loads(text), "the parent")
    layout = topology(config.pipeline.lanes, config.llm.context)
    arena = QueueArena(layout, stage, lambda reader, message: inboxes[reader].put(message))
    runner = make_runner(stage, config, arena)
    runner.arena.bell = ProcessBell(arena, inboxes[stage])  # type: ignore[misc, assignment]
    inboxes[CONTROL].put((READY, stage, 0))
    runner.run()


class QueueSupervisor:
    """What `Sessions` and `Pipeline` ask of a supervisor.

    Args:
        arena: of the client.
    """

    def __init__(self, config: Config, arena: QueueArena) -> None:
        self.config = config
        self.layout = arena.layout
        self.arena = arena
        self.away: set[str] = set()
        self.used_lanes: set[int] = set()
        self.processes: dict[str, Any] = {}
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def unless_failed(self, work: Awaitable[T]) -> T:
        """Nothing of ours fails."""
        return await work

    async def stop(self) -> None:
        """What was started is ended by whoever started it."""


class QueuePipeline(Pipeline):
    """A `Pipeline` whose client listens to an inbox."""

    async def __aenter__(self) -> Self:
        layout = topology(self.config.pipeline.lanes, self.config.llm.context)
        self._arena = QueueArena(layout, CONTROL, self._send)
        supervisor = cast("Supervisor", QueueSupervisor(self.config, self._arena))
        self._supervisor = supervisor
        self._vocabulary = vocabulary_for(self.config, lambda text, fraction: None)
        self._sessions = Sessions(supervisor)
        self._rings = []
        await self._start()
        return self

    def _send(self, reader: str, message: Message) -> None:
        raise NotImplementedError

    async def _start(self) -> None:
        raise NotImplementedError

    def _heard(self) -> None:
        self._rung(list(self._arena.take()))


class ProcessPipeline(QueuePipeline):
    """Five programs, a `multiprocessing.Queue` into each."""

    async def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._inboxes: dict[str, ProcessQueue[Message]] = {
            name: spawn.Queue() for name in (CONTROL, *STAGES)
        }
        text = self.config.model_dump_json()
        self._programs = {
            stage: spawn.Process(target=run_stage, args=(stage, text, self._inboxes), daemon=True)
            for stage in STAGES
        }
        for program in self._programs.values():
            program.start()
        inbox = self._inboxes[CONTROL]
        for _ in STAGES:
            await asyncio.to_thread(inbox.get, timeout=self.config.pipeline.ready_timeout_s)
        self._bell = ProcessBell(self._arena, inbox)
        self._fd = inbox._reader.fileno()  # type: ignore[attr-defined]
        asyncio.get_running_loop().add_reader(self._fd, self._listen)

    @property
    def stages(self) -> dict[str, int]:
        """Process id of each program."""
        return {name: program.pid or 0 for name, program in self._programs.items()}

    def _send(self, reader: str, message: Message) -> None:
        self._inboxes[reader].put(message)

    def _listen(self) -> None:
        self._bell.drain()
        self._heard()

    async def _stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        for program in self._programs.values():
            program.terminate()
        for program in self._programs.values():
            program.join(END_S)
        for inbox in self._inboxes.values():
            inbox.close()
            inbox.cancel_join_thread()


class TaskPipeline(QueuePipeline):
    """Everything in this program: a task for each stage, an `asyncio.Queue` into each."""

    async def _start(self) -> None:
        self._queues: dict[str, asyncio.Queue[Message]] = {
            name: asyncio.Queue() for name in (CONTROL, *STAGES)
        }
        self._tasks = [asyncio.create_task(self._serve(stage)) for stage in STAGES]
        self._tasks.append(asyncio.create_task(self._follow()))

    @property
    def stages(self) -> dict[str, int]:
        """This program counts as the client already."""
        return {}

    def _send(self, reader: str, message: Message) -> None:
        self._queues[reader].put_nowait(message)

    async def _serve(self, stage: str) -> None:
        """The loop of one stage: `Runner.run` where sleeping is awaiting."""
        arena = QueueArena(self._arena.layout, stage, self._send)
        runner = make_runner(stage, self.config, arena)
        while True:
            runner.turn_over(arena.take())
            await self._park(arena, runner.until_due())

    async def _park(self, arena: QueueArena, seconds: float) -> None:
        inbox = self._queues[arena.me]
        if seconds == 0:
            await asyncio.sleep(0)  # let the others have the loop
        elif inbox.empty():
            try:
                async with asyncio.timeout(seconds):
                    arena.receive(await inbox.get())
            except TimeoutError:
                return
        drain(arena, inbox)

    async def _follow(self) -> None:
        inbox = self._queues[CONTROL]
        while True:
            self._arena.receive(await inbox.get())
            drain(self._arena, inbox)
            self._heard()

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def drain(arena: QueueArena, inbox: "asyncio.Queue[Message]") -> None:
    """Take what is there."""
    while not inbox.empty():
        arena.receive(inbox.get_nowait())


PIPELINES: dict[str, type[Pipeline]] = {
    "ring": Pipeline,
    "mpqueue": ProcessPipeline,
    "asyncio": TaskPipeline,
}


def pids(pipeline: Pipeline) -> dict[str, int]:
    """All programs, the client among them."""
    return {CONTROL: os.getpid(), **pipeline.stages}


def recoveries(pipeline: Pipeline, processes: Iterable[str] = (CONTROL, *STAGES)) -> int:
    """Wake-ups that only the safety timer noticed; queues do not count theirs."""
    supervisor = pipeline._supervisor
    if not isinstance(supervisor, Supervisor):
        return 0
    return sum(supervisor.arena.bell_of(name).recoveries for name in processes)
