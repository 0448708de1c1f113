"""The default models, end to end: few tests, and honest ones."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline import models
from pipeline.client_lane import ClientLane
from pipeline.config import load_config
from pipeline.events import TurnEnded
from pipeline.pipeline import Pipeline
from tests.pipeline.running import back, run, until_turn_ended

pytestmark = [pytest.mark.models, pytest.mark.timeout(300)]


def words(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum() or c in " '")


def speak(texts: dict[Path, str]) -> None:
    """Clips of the default voice, with silence around them."""
    from piper import PiperVoice

    (model,) = models.resolve("bundle:piper-joe-medium").glob("*.onnx")
    voice = PiperVoice.load(model)
    for path, text in texts.items():
        chunks = list(voice.synthesize(text))
        rate = chunks[0].sample_rate
        pause = np.zeros(rate // 2, np.float32)
        sound = [pause, *(chunk.audio_float_array for chunk in chunks), pause]
        soundfile.write(path, np.concatenate(sound), rate)


async def ask(lane: ClientLane, clip: Path) -> TurnEnded:
    lane.play(clip)
    ended, _ = await until_turn_ended(lane)
    return ended


def test_a_conversation_remembers_through_the_death_of_its_model_and_the_next_one_does_not(
    tmp_path: Path,
) -> None:
    """A word said on a lane, asked for in that session and in the next one on it."""
    told, question = tmp_path / "told.wav", tmp_path / "question.wav"
    speak({told: "The secret word is elephant.", question: "What is the secret word?"})

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as first:
            assert "elephant" in (await ask(first, told)).transcript
            assert "elephant" in (await ask(first, question)).reply
            old = pipeline.stages["llm"]
            os.kill(old, signal.SIGKILL)
            await back(pipeline, "llm", old)
            assert "elephant" in (await ask(first, question)).reply
        async with await pipeline.open() as second:
            assert second.number == first.number
            asked = await ask(second, question)
            assert words(asked.transcript) == "what is the secret word"
            assert "elephant" not in asked.reply

    run(work, load_config(None, ["pipeline.lanes=1", "llm.max_new_tokens=12"]))
