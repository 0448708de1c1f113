"""A round over many lanes: one step for all who speak, a little for the others, errors apart."""

from types import SimpleNamespace

import pytest

from stages.llm.schedule import Need, Schedule
from stages.llm.together import Together

CHUNK = 16


class FakeEngine:
    def __init__(self):
        self.steps = []
        self.broken = set()

    def step(self, lanes):
        if self.broken & set(lanes):
            raise RuntimeError("no number")
        self.steps.append(list(lanes))
        return [100 + lane for lane in lanes]


class FakeSession:
    def __init__(self, lane, need, *, ready=True):
        self.conversation = SimpleNamespace(lane=lane, accept=int)
        self.need = need
        self.ready = ready
        self.due = None
        self.log = []

    def listen(self, *, at_once):
        assert not at_once
        self.log.append("listen")
        if "listen" in self.__dict__.get("wrong", ()):
            raise RuntimeError("listen")

    def may_speak(self):
        return self.ready

    def say(self, id):
        self.log.append(id)

    def compute(self, most):
        assert most == CHUNK
        self.log.append("compute")
        self.due = 0

    def save(self):
        self.log.append("save")


@pytest.fixture
def engine():
    return FakeEngine()


def round_of(engine, *sessions, chunks=2):
    failed = []
    Together(engine, CHUNK, Schedule(chunks)).step(
        sessions, lambda session, error: failed.append((session.conversation.lane, str(error)))
    )
    return failed


def test_all_who_speak_get_their_id_in_one_step(engine):
    sessions = [FakeSession(lane, Need.SPEAK) for lane in (3, 0, 7)]
    assert not round_of(engine, *sessions)
    assert engine.steps == [[3, 0, 7]]
    assert [s.log for s in sessions] == [["listen", 100 + n, "save"] for n in (3, 0, 7)]


def test_who_may_not_speak_now_is_left_out(engine):
    waits, speaks = FakeSession(0, Need.SPEAK, ready=False), FakeSession(1, Need.SPEAK)
    round_of(engine, waits, speaks)
    assert engine.steps == [[1]]


def test_others_get_a_little_and_come_again(engine):
    needs = (Need.WORDS, Need.HISTORY, Need.ANSWER, None)
    words, history, answer, idle = (FakeSession(n, need) for n, need in enumerate(needs))
    round_of(engine, words, history, answer, idle)
    assert [("compute" in s.log) for s in (words, history, answer, idle)] == [1, 0, 1, 0]
    assert (words.due, history.due, answer.due, idle.due) == (0, 0, 0, None)
    assert engine.steps == []


def test_an_error_is_told_of_its_own_lane(engine):
    sessions = [FakeSession(lane, Need.SPEAK) for lane in range(3)]
    sessions[2].wrong = ("listen",)
    engine.broken = {1}
    assert round_of(engine, *sessions) == [(2, "listen"), (1, "no number")]
    assert engine.steps == [[0]]
    assert 100 in sessions[0].log
