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
from pipeline.replay import read_question, replay
from stages.outcome import Outcome
from tests.pipeline.running import back, run, until_turn_ended

pytestmark = [pytest.mark.models, pytest.mark.timeout(300)]
jiwer = pytest.importorskip("jiwer")
QUESTION = Path(__file__).parents[2] / "demos" / "question.wav"
MOST_ERRORS = 0.15


def words(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum() or c in " '")


def independent_transcript(wav: Path) -> str:
    """Whisper base, beam 5: another model than the pipeline's, with faster-whisper's own code."""
    from faster_whisper import WhisperModel

    model = WhisperModel(str(models.resolve("bundle:whisper-base")), cpu_threads=2)
    segments, _ = model.transcribe(str(wav), beam_size=5, language="en")
    return " ".join(segment.text for segment in segments)


def speak(text: str, path: Path) -> Path:
    """A clip of the default voice, with silence around it."""
    from piper import PiperVoice

    (model,) = models.resolve("bundle:piper-joe-medium").glob("*.onnx")
    chunks = list(PiperVoice.load(model).synthesize(text))
    rate = chunks[0].sample_rate
    pause = np.zeros(rate // 2, np.float32)
    sound = [pause, *(chunk.audio_float_array for chunk in chunks), pause]
    soundfile.write(path, np.concatenate(sound), rate)
    return path


def test_the_shipped_question_is_answered_aloud(tmp_path: Path) -> None:
    async def work(pipeline: Pipeline) -> None:
        (answer,) = await replay(pipeline, [read_question(QUESTION)], out=tmp_path)
        assert answer.outcome is Outcome.ANSWERED
        assert answer.turn
        assert words(answer.turn.transcript) == "what do plants need to grow"
        assert len(answer.turn.reply.split()) >= 6
        assert answer.turn.timeline.first_audio_ms
        assert answer.wav
        heard = independent_transcript(answer.wav)
        assert jiwer.wer(words(answer.turn.reply), words(heard)) <= MOST_ERRORS

    run(work, load_config())


async def ask(lane: ClientLane, clip: Path) -> TurnEnded:
    lane.play(clip)
    ended, _ = await until_turn_ended(lane)
    return ended


def test_a_conversation_remembers_and_the_next_one_does_not(tmp_path: Path) -> None:
    """A word said on a lane, and asked for in the next session on it."""
    told = speak("The secret word is elephant.", tmp_path / "told.wav")
    question = speak("What is the secret word?", tmp_path / "question.wav")

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as first:
            assert "elephant" in (await ask(first, told)).transcript
            assert "elephant" in (await ask(first, question)).reply
        async with await pipeline.open() as second:
            assert second.number == first.number
            asked = await ask(second, question)
            assert words(asked.transcript) == "what is the secret word"
            assert "elephant" not in asked.reply

    run(work, load_config(None, ["pipeline.lanes=1"]))


def test_a_conversation_survives_the_death_of_the_language_model(tmp_path: Path) -> None:
    told = speak("The secret word is elephant.", tmp_path / "told.wav")
    question = speak("What is the secret word?", tmp_path / "question.wav")

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            assert "elephant" in (await ask(lane, told)).transcript
            old = pipeline.stages["llm"]
            os.kill(old, signal.SIGKILL)
            await back(pipeline, "llm", old)
            assert "elephant" in (await ask(lane, question)).reply

    run(work, load_config())
