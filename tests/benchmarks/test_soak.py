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

    async def work(pipeline: Pipeline) -> tuple[soak.Noted, soak.Noted]:
        talked = await soak.watched(
            pipeline, lambda noted: soak.talk(pipeline, question, 8, noted, progress), 0.2
        )
        spoken = await soak.watched(
            pipeline, lambda noted: soak.speak(pipeline, loop, 0.06, noted, progress), 0.2
        )
        return talked, spoken

    talked, spoken = run(work, listening("turn.max_turn_s=0.7"))
    assert talked.turns == {Outcome.ANSWERED: 8}
    assert len(talked.latency_ms) == 8
    assert spoken.turns, "their limit ends the turns of speech without a pause"
    assert not {Outcome.FAILED, Outcome.TIMED_OUT} & set(spoken.turns)
    for noted in (talked, spoken):
        assert len(noted.memory_mib) > 5
        counts = [count for _, count in noted.descriptors]
        assert counts[-1] <= counts[len(counts) // 2]
    values = soak.figures("talk", talked) | soak.figures("speech", spoken)
    assert set(values) <= {name for name in values if metrics.SOAK.find(name)}
    assert values["talk_sure_descriptors"] == 0


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
