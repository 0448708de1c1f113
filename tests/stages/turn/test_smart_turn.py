import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.errors import ModelError
from pipeline.models import silero_vad_path, smart_turn_path
from stages.audio.clip import load_clip
from stages.audio.convert import convert
from stages.audio.room_tone import RoomTone
from stages.mel import mel_filters
from stages.turn.smart_turn import RATE, REACH, SmartTurn, features

QUESTION = Path(__file__).parents[3] / "demos" / "question.wav"
QUESTION_END_S = 1.86
FILTERS = mel_filters(80)


def noise(samples: int) -> NDArray[np.int16]:
    rng = np.random.default_rng(samples)
    return (rng.normal(0, 1, samples) * rng.uniform(10, 3000)).astype(np.int16)


def transformers_features(samples: NDArray[np.int16]) -> NDArray[np.float32]:
    """What pipecat shows the model, by the library that it was trained with."""
    from transformers.models.whisper.feature_extraction_whisper import WhisperFeatureExtractor

    heard = samples[-REACH:].astype(np.float32) / 32768
    shown = WhisperFeatureExtractor(chunk_length=8)(
        np.pad(heard, (REACH - heard.size, 0)),
        sampling_rate=RATE,
        padding="max_length",
        max_length=REACH,
        truncation=True,
        do_normalize=True,
        return_tensors="np",
    )
    found: NDArray[np.float32] = shown.input_features[0]
    return found


@pytest.mark.parametrize("samples", [0, 1, REACH - 1, REACH, 200_000])
def test_the_model_is_shown_what_it_was_trained_on(samples: int) -> None:
    sound = noise(samples)
    shown = features(sound, FILTERS)
    assert (shown.dtype, shown.shape) == (np.float32, (80, 800))
    assert shown == pytest.approx(transformers_features(sound), abs=5e-5)


def test_both_kinds_of_samples_mean_the_same() -> None:
    sound = noise(40_000)
    as_floats = sound.astype(np.float32) / np.float32(32768)
    assert np.array_equal(features(sound, FILTERS), features(as_floats, FILTERS))


@pytest.mark.parametrize("gain", [0.1, 8])
def test_loudness_does_not_count(gain: float) -> None:
    sound = noise(REACH).astype(np.float32) / np.float32(32768)
    quieter = sound * np.float32(gain)
    assert features(quieter, FILTERS) == pytest.approx(features(sound, FILTERS), abs=1e-3)


def test_what_came_before_does_not_count() -> None:
    sound = noise(REACH)
    before = np.concatenate((noise(70_000), sound))
    assert np.array_equal(features(before, FILTERS), features(sound, FILTERS))


def test_a_missing_a_broken_and_another_model_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no end-of-turn model at") as caught:
        SmartTurn(tmp_path / "turn.onnx")
    assert caught.value.remedy == "Run: voxring models fetch smart-turn-v3.2"
    (tmp_path / "turn.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"turn\.onnx cannot be loaded"):
        SmartTurn(tmp_path / "turn.onnx")
    with pytest.raises(ModelError, match=r"takes c .*takes input_features \[80, 800\]"):
        SmartTurn(silero_vad_path())


def test_it_brings_no_large_library_along() -> None:
    code = (
        "import sys, stages.turn.smart_turn;"
        "print(*{'torch', 'transformers', 'scipy', 'faster_whisper'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.models
def test_a_question_is_over_and_it_remembers_nothing() -> None:
    clip = load_clip(QUESTION)
    asked = convert(clip.samples, clip.rate)[: int(QUESTION_END_S * RATE)]
    sound = np.concatenate((asked, RoomTone().take(RATE // 10)))
    model = SmartTurn(smart_turn_path("bundle:smart-turn-v3.2"))
    over = model.probability(sound)
    assert over > 0.9
    model.probability(noise(RATE))
    assert model.probability(sound) == over


@pytest.mark.models
@pytest.mark.parametrize(("said_s", "over"), [(3.08, False), (4.35, True)])
def test_a_recorded_question_is_over_at_its_end_only(
    recordings: Path, said_s: float, over: bool
) -> None:
    clip = load_clip(recordings / "cars.wav")  # "How many cars are there | in the picture?"
    asked = convert(clip.samples, clip.rate)[: int(said_s * RATE)]
    sound = np.concatenate((asked, RoomTone().take(RATE // 10)))
    model = SmartTurn(smart_turn_path("bundle:smart-turn-v3.2"))
    assert (model.probability(sound) > 0.5) == over
