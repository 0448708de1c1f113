"""The loop of a stage: an error in one lane stays there, whatever else goes wrong with it."""

import os

import numpy as np
import pytest

from ringbuf import Arena, BellPipe
from stages.messages import Caption, CaptionKind
from stages.runner import OPEN_FAILED, STALE, Runner
from stages.stage import Session, Stage
from stages.topology import ASR, CONTROL, topology


class Broken(Session):
    """Raises where it is told to."""

    def __init__(self, lane, wrong):
        super().__init__(lane)
        self.wrong = wrong
        self.log = []

    def step(self):
        self.log.append("step")
        if "step" in self.wrong:
            raise RuntimeError("step")

    def fail(self, error):
        self.log.append(f"fail {error}")
        super().fail(error)
        if "fail" in self.wrong:
            raise RuntimeError("fail")

    def close(self):
        self.log.append("close")
        if "close" in self.wrong:
            raise RuntimeError("close")


class BrokenStage(Stage):
    name = ASR

    def __init__(self):
        self.wrong = {}  # by lane, what raises in its sessions
        self.opened = []
        self.batch_raises = False

    def open(self, lane):
        wrong = self.wrong.get(lane.number, ())
        if "open" in wrong:
            raise RuntimeError("open")
        self.opened.append(Broken(lane, wrong))
        return self.opened[-1]

    def step(self, sessions, failed):
        if self.batch_raises:
            raise RuntimeError("batch")
        super().step(sessions, failed)


class World:
    def __init__(self):
        layout = topology(lanes=2, context=256)
        self.bells = {name: BellPipe.create() for name in layout.processes}
        self.control = Arena.create(layout, CONTROL, self.bells)
        self.arena = Arena.attach(os.dup(self.control.fd), ASR, self.bells)
        self.stage = BrokenStage()
        self.now = 10**9
        self.runner = Runner(self.stage, self.arena, lambda: self.now)

    def session(self, number, value):
        """Control opens (odd) or closes (even) a conversation; its ack."""
        lane = self.control.lane(number)
        lane.set("session", value)
        self.runner.turn_over([number])
        return lane.get("ack_asr")

    def errors(self, number):
        messages = self.control.lane(number).command("captions_asr").read()
        captions = [Caption.unpack(message) for message in messages]
        assert all(caption.kind is CaptionKind.ERROR for caption in captions)
        return [caption.payload.decode() for caption in captions]

    def close(self):
        for arena in (self.arena, self.control):
            arena.close()
        for bell in self.bells.values():
            bell.close()


@pytest.fixture
def world():
    made = World()
    yield made
    made.close()


def test_an_error_is_told_and_the_other_lane_does_not_notice(world):
    world.stage.wrong[0] = {"step"}
    for number in (0, 1):
        assert world.session(number, 1) == 1
    bad, good = world.stage.opened
    assert bad.log == ["step", "fail step"]
    assert good.log == ["step"]
    assert (world.errors(0), world.errors(1)) == (["asr: step"], [])
    world.runner.turn_over([0, 1])
    assert bad.log[2:] == ["step", "fail step"], "the session goes on"


def test_a_session_that_cannot_fail_is_replaced(world, caplog):
    world.stage.wrong[0] = {"step", "fail", "close"}
    world.session(0, 1)
    first, second = world.stage.opened
    assert first.log == ["step", "fail step", "close"]
    assert world.runner.sessions == {0: second}
    assert "begins anew" in caplog.text


def test_a_session_that_cannot_be_replaced_is_told_and_the_stage_lives(world):
    world.session(0, 1)
    world.session(1, 1)
    world.stage.opened[0].wrong = {"step", "fail"}
    world.stage.wrong[0] = {"open"}
    world.runner.turn_over([0])
    world.runner.turn_over([0, 1])
    assert world.errors(0) == ["asr: step", "asr: open"]
    assert list(world.runner.sessions) == [1]
    world.stage.wrong[0] = set()
    assert world.session(0, 2) == 2
    assert world.session(0, 3) == 3, "the next conversation finds the lane in order"


def test_a_session_that_cannot_close_is_dropped_all_the_same(world):
    world.stage.wrong[0] = {"close"}
    assert world.session(0, 1) == 1
    assert world.session(0, 2) == 2
    assert world.runner.sessions == {}


def test_a_batch_that_raises_fails_every_lane_in_it(world):
    world.session(0, 1)
    world.session(1, 1)
    world.stage.batch_raises = True
    world.runner.turn_over([0, 1])
    assert [session.log[-1] for session in world.stage.opened] == ["fail batch"] * 2


def test_a_conversation_that_cannot_open_is_refused(world):
    world.stage.wrong[0] = {"open"}
    assert world.session(0, 1) == 1 | OPEN_FAILED
    assert world.errors(0) == ["asr: open"]


def test_by_default_a_failed_session_waits_for_what_comes_next(world):
    session = Session(world.runner._lane(0))
    session.due = 5
    session.fail(RuntimeError("step"))
    assert session.due is None


def test_what_is_written_after_a_stage_has_attended_is_read_and_nothing_from_before(world):
    lane = world.control.lane(0)
    lane.set("session", 1)
    turn = Arena.attach(os.dup(world.control.fd), "turn", world.bells)
    speech = turn.lane(0).audio("speech")
    silence = np.zeros(4, np.int16)
    speech.put(silence, first=0, rate=16_000)
    world.runner.attend()
    assert lane.get("ack_asr") == 1
    assert not world.stage.opened[0].log, "attending is no work"
    speech.put(silence, first=4, rate=16_000)
    world.runner.turn_over(world.arena.bell.take())
    assert world.stage.opened[0].log == ["step"]
    assert world.arena.lane(0).audio("speech").peek().first == 4
    turn.close()


class Timed(Session):
    """Asks to be stepped at set times."""

    def __init__(self, lane, dues):
        super().__init__(lane)
        self.dues = list(dues)
        self.at = []
        self.due = self.dues.pop(0)

    def step(self):
        self.at.append(self.now())
        self.due = self.dues.pop(0) if self.dues else None


class TimedStage(Stage):
    name = ASR

    def __init__(self, now, plans):
        self.now, self.plans, self.made = now, plans, {}

    def open(self, lane):
        session = self.made[lane.number] = Timed(lane, self.plans[lane.number])
        session.now = self.now
        return session


def test_lanes_are_stepped_when_they_are_due_and_idle_ones_are_not_looked_at(world):
    world.now = 100
    plans = {0: [None, 300, 250, None], 1: [None, 150, None, None]}
    stage = world.runner.stage = TimedStage(lambda: world.now, plans)
    for number in plans:
        world.session(number, 1)
    assert world.runner.until_due() == pytest.approx(50 / 1e9)
    for world.now in (149, 150, 151, 299, 300, 301, 10_000):
        world.runner.turn_over(())
    assert stage.made[0].at == [100, 300, 301]
    assert stage.made[1].at == [100, 150]
    assert world.runner.until_due() == 1.0
    stage.made[1].due = world.now + 5  # by itself, outside of a step
    world.runner.schedule(1)
    world.now += 5
    world.runner.turn_over(())
    assert stage.made[1].at == [100, 150, 10_005]
    assert stage.made[0].at == [100, 300, 301]


def test_dues_that_changed_do_not_pile_up(world):
    class Later(Session):
        def step(self):
            self.due = world.now + 10**9

    world.runner.stage = TimedStage(None, {})
    world.runner.stage.open = Later
    world.session(0, 1)
    for _ in range(1000):
        world.now += 1
        world.runner.turn_over([0])
    assert len(world.runner._dues) <= STALE
    world.now += 10**9
    assert world.runner.until_due() == 0
