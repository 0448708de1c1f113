"""A stage that the kernel kills because it wants too much memory."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from pipeline.config import builtin_configs, load_config
from pipeline.events import Fault
from pipeline.pipeline import Pipeline
from stages.outcome import Outcome
from tests.pipeline.running import back, run, tone, until_turn_ended

GROUPS = Path("/sys/fs/cgroup/memory")  # of cgroup v1; v2 forbids limits beside our own process
LIMIT = 256 << 20

HUNGRY = """
import os
from pathlib import Path

from stages.tts.scripted import ScriptedTts, ToneUtterance


class Utterance(ToneUtterance):
    def feed(self, id, position):
        super().feed(id, position)
        eaten = []
        while "feast" in self._text:
            eaten.append(b"x" * (1 << 20))


class Hungry(ScriptedTts):
    def load(self):
        Path(os.environ["MEMORY_GROUP"], "cgroup.procs").write_text(str(os.getpid()))
        super().load()

    def _begin(self):
        return Utterance(self.vocabulary, self.options)
"""


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A memory limit that processes can join."""
    if not os.access(GROUPS, os.W_OK):
        pytest.skip("needs a writable memory controller of cgroup v1 (root)")
    group = Path(mkdtemp(prefix="voxring-", dir=GROUPS))
    (group / "memory.limit_in_bytes").write_text(str(LIMIT))
    yield group
    group.rmdir()


def test_a_stage_killed_for_its_memory_costs_that_turn_alone(
    memory_group: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hungry.py").write_text(HUNGRY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("MEMORY_GROUP", str(memory_group))
    clip = tone(tmp_path / "clip.wav", 0.5)
    # Something of the answer is heard before the word that hungers for memory comes.
    replies = 'llm.options={replies = ["Hello there: a feast.", "Fine."], ids_per_s = 20}'
    voice = ["tts.stage=hungry:Hungry", "tts.options={tone_ms = 40}", "turn.release_ms=256"]
    config = load_config(builtin_configs()["scripted"], [replies, *voice], cores=2)

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            old = pipeline.stages["tts"]
            lane.play(clip)
            ended, seen = await until_turn_ended(lane)
            assert ended.timeline.outcome is Outcome.FAILED
            assert any("SIGKILL" in event.message for event in seen if isinstance(event, Fault))
            await back(pipeline, "tts", old)
            lane.play(clip)
            ended, _ = await until_turn_ended(lane)
            assert (ended.timeline.outcome, ended.reply) == (Outcome.ANSWERED, "Fine.")

    run(work, config)
    assert "oom_kill 1" in (memory_group / "memory.oom_control").read_text()
