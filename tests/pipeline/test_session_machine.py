"""The session protocol in any order of open, close, cancel, refusal, crash and late ack.

Real shared memory, the real `Sessions` and the real `Runner` of every stage; only the programs
around them are missing, so that hypothesis decides who runs when.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import ringbuf
from pipeline.config import Config
from pipeline.errors import SessionError
from pipeline.sessions import Sessions
from ringbuf import Arena, BellPipe
from stages.lane import Lane
from stages.runner import Runner
from stages.stage import Session, Stage
from stages.topology import ASR, CONTROL, LLM, STAGES, TTS, topology

LANES = 2
OUT = {ASR: "heard", LLM: "reply"}
IN = {LLM: "heard", TTS: "reply"}


class Scribe(Session):
    """Signs what it writes with its session's number, and reads nobody else's."""

    def __init__(self, lane: Lane, strange: list[int]) -> None:
        super().__init__(lane)
        self.number = lane.session
        self.strange = strange

    def step(self) -> None:
        if self.lane.session != self.number:
            return  # closed, and not followed yet
        if name := IN.get(self.lane.process):
            with getattr(self.lane, name).read() as batch:
                for run in batch.runs():
                    if run.turn != self.number:
                        self.strange.append(run.turn)
        if name := OUT.get(self.lane.process):
            getattr(self.lane, name).put(1, position=0, turn=self.number, answer=0)


class Scripted(Stage):
    """Opens sessions, or refuses one when it is told to."""

    def __init__(self, strange: list[int]) -> None:
        self.refuses = False
        self.strange = strange

    def open(self, lane: Lane) -> Session:
        if self.refuses:
            self.refuses = False
            raise RuntimeError("not this one")
        return Scribe(lane, self.strange)


class World:
    """What `Sessions` knows of a supervisor."""

    def __init__(self) -> None:
        self.config = Config()
        self.layout = topology(LANES, context=64)
        self.bells = {name: BellPipe.create() for name in self.layout.processes}
        self.arena = Arena.create(self.layout, CONTROL, self.bells)
        self.away: set[str] = set()
        self.used_lanes: set[int] = set()

    async def unless_failed(self, work: Awaitable[Any]) -> Any:
        return await work


class AnyOrder(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.world = World()
        self.sessions = Sessions(self.world)  # type: ignore[arg-type]
        self.arenas = [self.world.arena]
        self.runners: dict[str, Runner] = {}
        self.strange: list[int] = []  # numbers of other sessions that somebody read
        for stage in STAGES:
            self.begin(stage)
        self.opening: list[asyncio.Task[ringbuf.Lane]] = []
        self.closing: list[asyncio.Task[None]] = []
        self.open: list[ringbuf.Lane] = []

    def begin(self, stage: str) -> None:
        arena = Arena.attach(os.dup(self.world.arena.fd), stage, self.world.bells)
        self.arenas.append(arena)
        self.runners[stage] = Runner(Scripted(self.strange), arena, lambda: 0)

    def spin(self) -> None:
        for _ in range(4):
            self.loop.run_until_complete(asyncio.sleep(0))
        for task in [t for t in self.opening if t.done()]:
            self.opening.remove(task)
            if not task.cancelled() and not task.exception():
                self.open.append(task.result())
        for task in [t for t in self.closing if t.done()]:
            self.closing.remove(task)
            task.result()

    @rule()
    def ask_for_a_lane(self) -> None:
        if len(self.opening) < LANES + 1:
            self.opening.append(self.loop.create_task(self.sessions.open()))
            self.spin()

    @precondition(lambda self: getattr(self, "opening", None))
    @rule(data=st.data())
    def give_up_asking(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.opening)).cancel()
        self.spin()

    @precondition(lambda self: getattr(self, "open", None))
    @rule(data=st.data(), waits=st.booleans())
    def leave(self, data: st.DataObject, waits: bool) -> None:
        lane = data.draw(st.sampled_from(self.open))
        self.open.remove(lane)
        if waits:
            self.closing.append(self.loop.create_task(self.sessions.close(lane)))
        else:
            self.sessions.release(lane)
        self.spin()

    @rule(stage=st.sampled_from(STAGES))
    def run(self, stage: str) -> None:
        runner = self.runners[stage]
        runner.turn_over(runner.arena.bell.take())

    @rule(stage=st.sampled_from(STAGES))
    def crash(self, stage: str) -> None:
        """The program dies, and another one takes its place."""
        self.world.arena.mark_dead(stage, self.world.used_lanes)
        self.world.arena.mark_alive(stage, self.world.used_lanes)
        self.begin(stage)

    @rule(stage=st.sampled_from(STAGES))
    def refuse(self, stage: str) -> None:
        scripted = self.runners[stage].stage
        assert isinstance(scripted, Scripted)
        scripted.refuses = True

    @rule()
    def hear(self) -> None:
        for number in self.world.arena.bell.take():
            self.sessions.rung(number)
        self.spin()

    @rule(order=st.permutations(STAGES))
    def everyone_runs(self, order: list[str]) -> None:
        for stage in order:
            self.run(stage)
        self.hear()

    @invariant()
    def nothing_of_a_session_reaches_another(self) -> None:
        assert not getattr(self, "strange", [])

    @invariant()
    def an_open_lane_is_open_in_every_stage_and_nobody_elses(self) -> None:
        if not hasattr(self, "open"):
            return
        numbers = [lane.number for lane in self.open]
        assert len(set(numbers)) == len(numbers)
        assert not set(numbers) & set(self.sessions._free)
        for lane in self.open:
            assert lane.get("session") % 2 == 1

    @invariant()
    def a_free_lane_is_closed_in_every_stage(self) -> None:
        if not hasattr(self, "open"):
            return
        for number in self.sessions._free:
            lane = self.world.arena.lane(number)
            assert lane.get("session") % 2 == 0
            assert {lane.get(f"ack_{s}") for s in STAGES} == {lane.get("session")}

    def teardown(self) -> None:
        """Whatever happened: when everyone has run, every lane that nobody holds is free."""
        if not hasattr(self, "open"):
            return
        for task in self.opening:
            task.cancel()
        self.spin()
        for _ in range(3):
            self.everyone_runs(list(STAGES))
        assert len(self.sessions._free) == LANES - len(self.open)
        for task in (*self.opening, *self.closing):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, SessionError):
                self.loop.run_until_complete(task)
        self.loop.close()
        for arena in self.arenas:
            arena.close()
        for bell in self.world.bells.values():
            bell.close()


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
