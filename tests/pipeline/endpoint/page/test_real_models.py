"""The page with the default models: the answer that is heard is the one that is written."""

import asyncio
from pathlib import Path

import jiwer
import numpy as np
import pytest
import soundfile

from pipeline import models
from pipeline.config import load_config
from pipeline.endpoint.server import Server
from pipeline.pipeline import Pipeline
from tests.pipeline.endpoint.page.browsing import microphone, visit
from tests.pipeline.endpoint.serving import BUSY_IS_FINE

pytestmark = [pytest.mark.models, pytest.mark.timeout(300)]

MOST_ERRORS = 0.2  # of the words of an answer


def words(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum() or c in " '")


def transcript(wav: Path) -> str:
    """By another model than the pipeline's."""
    from faster_whisper import WhisperModel

    model = WhisperModel(str(models.resolve("bundle:whisper-base")), cpu_threads=2)
    segments, _ = model.transcribe(str(wav), beam_size=5, language="en")
    return " ".join(segment.text for segment in segments)


async def ask(wav: Path, flags: tuple[str, ...]) -> tuple[str, str]:
    """What the page says was asked and answered; what it played is in `wav`."""
    config = load_config(None, ["audio.stage=client", "serve.port=0", BUSY_IS_FINE])
    async with (
        asyncio.timeout(240),
        Server(config) as server,
        Pipeline(config) as pipeline,
        visit(server.url, *flags, with_tape=True) as visitor,
    ):
        server.open_doors(pipeline)
        await visitor.press("Start")
        await visitor.page.get_by_role("img", name="First sound after").wait_for()
        sound, rate = await visitor.heard()
        soundfile.write(wav, sound, rate)
        assert visitor.complaints == []
        return await visitor.until(".user p"), await visitor.until(".reply p")


def test_a_spoken_question_is_answered_aloud_in_the_browser(tmp_path: Path) -> None:
    wav = tmp_path / "answer.wav"
    asked, written = asyncio.run(ask(wav, microphone(tmp_path / "question.wav", 1.5)))
    assert words(asked) == "what do plants need to grow"
    assert len(written.split()) >= 5
    assert jiwer.wer(words(written), words(transcript(wav))) <= MOST_ERRORS
    sound, rate = soundfile.read(wav)
    assert np.count_nonzero(np.abs(sound) > 0.01) / rate > 1
