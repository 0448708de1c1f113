from collections.abc import Callable, Sequence

import pytest

from benchmarks import tts_lanes
from benchmarks.tts_lanes import Question
from pipeline.config import Config
from stages.lane import Lane
from stages.stage import Host, Session, Stage
from stages.tts.fair import step_fairly
from stages.tts.speaker import Speaker
from tests.stages.tts.test_speaker import Beeps


class Beeper(Stage):
    """30 ms of sound for each id, at no cost."""

    name = "tts"

    def open(self, lane: Lane) -> Speaker:
        return Speaker(lane, Beeps, self.host.now)

    def step(
        self, sessions: Sequence[Session], failed: Callable[[Session, Exception], None]
    ) -> None:
        step_fairly(sessions, failed)


def test_every_number_of_lanes_has_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tts_lanes, "LEAD_S", 0.0)
    monkeypatch.setattr(tts_lanes, "PAUSE_S", 0.01)
    config = Config()
    stage = Beeper(Host(config, config.tts, tts_lanes.time.monotonic_ns, lambda text, share: None))
    found = tts_lanes.figures(stage, Question([1, 2, 3], 0), [[1] * 50] * 3, (1, 4), 3)
    assert set(found) == {
        f"lanes_{name}{lanes}"
        for name in ("first_sound_p50_ms", "first_sound_p95_ms", "real_time_factor", "late")
        for lanes in (".1", ".4", "")
    }
    assert all(figure is not None for figure in found.values())
