"""The stage hears all lanes side by side: one call of the model for each round of windows."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.config import Config
from stages.stage import Host
from stages.topology import INPUT_BLOCK, INPUT_RATE
from stages.turn.silero import SileroTurn
from tests.lanes import open_lanes


class Model:
    """Says how loud a window is, and remembers how many it was given at once."""

    def __init__(self) -> None:
        self.calls = []

    def judge(self, states, windows):
        self.calls.append(len(states))
        for state in states:
            state.seen = getattr(state, "seen", 0) + 1
        return [float(np.abs(window).max() > 1000) for window in windows]


@pytest.fixture
def stage(monkeypatch):
    monkeypatch.setattr("stages.turn.vad.VadState", SimpleNamespace)
    host = Host(Config(), Config().turn, time.monotonic_ns, lambda text, fraction: None)
    made = SileroTurn(host)
    made.model, made.judge, made.speculation = Model(), None, None
    return made


def say(lane, levels):
    for n, level in enumerate(levels):
        block = np.full(INPUT_BLOCK, level, np.int16)
        lane.mic.put(block, first=n * INPUT_BLOCK, rate=INPUT_RATE)


def test_windows_of_all_lanes_are_judged_in_one_call(stage):
    with open_lanes(3) as lane:
        sessions = [stage.open(lane("turn", n)) for n in range(3)]
        say(lane("audio", 0), [9000] * 8)
        say(lane("audio", 1), [0] * 3)
        say(lane("audio", 2), [])
        errors = []
        stage.step(sessions, lambda session, error: errors.append(error))
        assert not errors
        assert stage.model.calls == [2, 2, 2, 1, 1, 1, 1, 1]
        assert [getattr(s.detector.state, "seen", 0) for s in sessions] == [8, 3, 0]
        assert [lane("asr", n).turn for n in range(3)] == [1, 0, 0]


def test_a_lane_that_raises_leaves_the_others_alone(stage):
    with open_lanes(3) as lane:
        sessions = [stage.open(lane("turn", n)) for n in range(3)]
        for n in range(3):
            say(lane("audio", n), [9000] * 8)
        lane("audio", 1).mic.put(np.zeros(8, np.int16), first=8 * INPUT_BLOCK, rate=8000)
        failed = []
        stage.step(sessions, lambda session, error: failed.append((session, str(error))))
        assert failed == [(sessions[1], "mic brings 8000 Hz, expected 16000 Hz")]
        assert stage.model.calls == [3] * 8
        assert [len(lane("turn", n).mic) for n in range(3)] == [0, 0, 0]
