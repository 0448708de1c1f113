"""One turn of a real engine, measured in its own program."""

from pipeline.config import Config, LlmConfig, TtsConfig
from pipeline.llm_doctor import LOOKS, take_profile
from stages.llm.profiling import turn
from stages.llm.scripted_engine import ScriptedEngine


def test_a_turn_is_profiled(tiny_chat, tiny_onnx, monkeypatch):
    monkeypatch.setenv("VOXRING_CACHE", str(tiny_onnx.parents[2]))
    section = LlmConfig(model=str(tiny_chat), context=128, threads=1)
    profile = take_profile(Config(llm=section, tts=TtsConfig(threads=1)))
    assert (profile.stage, profile.threads, profile.budget) == ("onnx", 1, 2)
    assert len(profile.steps) == 24
    assert profile.read_bytes == profile.read_bytes // 4 * 4 > 10_000
    assert profile.read_gb_s > 0.1
    # Nothing is kept for an id, and nothing is touched for the first time.
    settled = profile.steps[12:]
    assert sorted(step.heap_grown or 0 for step in settled)[6] <= 1024
    assert sorted(step.minor_faults for step in settled)[6] <= 16
    assert all(look(profile) for look in LOOKS)


def test_what_waits_for_the_collector_is_not_kept():
    class Cycles(ScriptedEngine):
        def step(self, lanes):
            for _ in range(50):
                cycle = []
                cycle.append(cycle)
            for lane in lanes:
                self._content[lane].append(7)
            return [7 for _ in lanes]

    _, steps = turn(Cycles([], 128))
    assert sorted(step.grown for step in steps)[12] <= 4
