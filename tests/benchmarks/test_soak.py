"""The soak, shortened: a few conversations and some seconds of speech through scripted stages."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
import soundfile

from benchmarks import metrics, soak
from benchmarks.command import Progress
from pipeline.pipeline import Pipeline
from pipeline.replay import read_question
from stages.outcome import Outcome
from tests.pipeline.running import run, tone
from tests.pipeline.test_recovery import listening


def test_conversations_and_speech_leave_nothing_behind(tmp_path: Path) -> None:
    question = read_question(tone(tmp_path / "clip.wav", 0.3))
    loop = tone(tmp_path / "loop.wav", 1.0)
    progress = Progress("test")

    async def work(pipeline: Pipeline) -> soak.Noted:
        return await soak.soak(pipeline, question, 9, loop, 0.06, 0.2, progress)

    noted = run(work, listening("turn.max_turn_s=0.7", f"pipeline.lanes={soak.LANES + 1}"))
    assert noted.turns[soak.Part.TALK] == {Outcome.ANSWERED: 9}
    assert len(noted.latency_ms[soak.Part.TALK]) == 9
    spoken = noted.turns[soak.Part.SPEECH]
    assert spoken, "their limit ends the turns of speech without a pause"
    assert not {Outcome.FAILED, Outcome.TIMED_OUT} & set(spoken)
    assert len(noted.memory_mib["asr"]) > 5
    counts = [count for _, count in noted.descriptors]
    assert counts[-1] <= counts[len(counts) // 2]
    values = soak.figures(noted)
    assert set(values) <= {name for name in values if metrics.SOAK.find(name)}
    assert values["sure_descriptors"] == 0


def test_the_speech_goes_on_with_pauses_of_breath(tmp_path: Path) -> None:
    quiet = np.zeros(8000)
    loud = 0.3 * np.sin(2 * np.pi * 220 * np.arange(16_000) / 16_000)
    clip = tmp_path / "clip.wav"
    soundfile.write(clip, np.concatenate((quiet, loud, quiet)), 16_000)
    path = soak.write_speech(listening(), read_question(clip), tmp_path / "speech.wav")
    samples, rate = soundfile.read(path)
    assert len(samples) / rate == pytest.approx(soak.LOOP_S, abs=2)
    silent = np.abs(samples[: len(samples) // 160 * 160]).reshape(-1, 160).max(axis=1) < 0.01
    edges = np.flatnonzero(np.diff(silent.astype(int)))
    runs_s = np.diff(edges)[::2] / 100  # from the first silence on: silent, loud, silent …
    assert runs_s.max() == pytest.approx(soak.PAUSE_S, abs=0.03)


def test_a_program_that_ends_on_the_way_is_told(tmp_path: Path) -> None:
    noted = soak.Noted()
    with pytest.raises(OSError, match="No such file"):
        asyncio.run(noted.watch({"nobody": 2**22 + 1}, 1.0))
