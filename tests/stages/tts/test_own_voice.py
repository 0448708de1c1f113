"""The example of docs/tts.md, as it is printed."""

import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.pipeline import Pipeline
from tests.pipeline.running import run, scripted, tone, until_turn_ended

DOCS = Path(__file__).parents[3] / "docs" / "tts.md"


def test_the_documented_voice_beeps_once_for_each_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = re.search(r"```python\n# beeper\.py\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert source
    (tmp_path / "beeper.py").write_text(source[1])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")

    async def work(pipeline: Pipeline) -> str:
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav"), out=tmp_path / "answer.wav")
            ended, _ = await until_turn_ended(lane)
            return ended.reply

    reply = run(work, scripted("tts.stage=beeper:Beeper"))
    samples, rate = soundfile.read(tmp_path / "answer.wav")
    assert len(samples) == pytest.approx(len(reply.split()) * rate / 5, abs=rate / 50)
    assert np.abs(samples).max() > 0.2
