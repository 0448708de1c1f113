from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.errors import ModelError
from pipeline.models import silero_vad_path
from stages.audio.clip import load_clip
from stages.audio.convert import convert
from stages.turn.vad import WINDOW, SileroVad, VadState

QUESTIONS = [
    ("dog-or-cat.mp3", 0.064, 1.60),
    ("seine.mp3", 0.064, 1.56),
    ("cars.wav", 1.632, 4.35),
    ("cutter.flac", 0.384, 1.90),
    ("concord.flac", 0.576, 3.48),
    ("modern.wav", 0.064, 1.83),
]


@pytest.fixture(scope="module")
def vad() -> SileroVad:
    return SileroVad(silero_vad_path())


def windows_of(path: Path) -> NDArray[np.int16]:
    """The clip at 16 kHz, then 0.5 s of faint noise, in whole windows."""
    clip = load_clip(path)
    samples = convert(clip.samples, clip.rate)
    tail = np.random.default_rng(0).normal(0, 8, 8000).astype(np.int16)
    sound = np.concatenate([samples, tail])
    return sound[: len(sound) // WINDOW * WINDOW].reshape(-1, WINDOW)


def one_by_one(vad: SileroVad, windows: NDArray[np.int16]) -> NDArray[np.float64]:
    state = VadState()
    return np.array([vad.probability(state, window) for window in windows])


@pytest.mark.parametrize(("file", "start", "end"), QUESTIONS)
def test_speech_is_found_where_it_is(
    vad: SileroVad, recordings: Path, file: str, start: float, end: float
) -> None:
    voiced = np.flatnonzero(one_by_one(vad, windows_of(recordings / file)) >= 0.5) * 0.032
    assert voiced[0] == pytest.approx(start, abs=0.1)
    assert voiced[-1] + 0.032 == pytest.approx(end, abs=0.1)


def test_room_noise_is_no_speech(vad: SileroVad, recordings: Path) -> None:
    assert one_by_one(vad, windows_of(recordings / "noise.wav")).max() < 0.1


@pytest.mark.parametrize("level", [0, 10, 300])
def test_silence_and_white_noise_are_no_speech(vad: SileroVad, level: int) -> None:
    noise = np.random.default_rng(1).normal(0, level, 100 * WINDOW).astype(np.int16)
    assert vad.probabilities(VadState(), noise).max() < 0.3


def test_sessions_do_not_hear_each_other(vad: SileroVad, recordings: Path) -> None:
    speech = windows_of(recordings / "cutter.flac")
    alone = one_by_one(vad, speech)
    speaker, silent = VadState(), VadState()
    both = [
        (vad.probability(speaker, window), vad.probability(silent, np.zeros_like(window)))
        for window in speech
    ]
    assert [voice for voice, _ in both] == alone.tolist()
    assert max(silence for _, silence in both) < 0.1


def test_a_stream_that_catches_up_is_judged_the_same(vad: SileroVad) -> None:
    sound = np.random.default_rng(2).integers(-9000, 9000, 12 * WINDOW).astype(np.int16)
    state = VadState()
    parts = [
        vad.probabilities(state, sound[: 5 * WINDOW]),
        vad.probabilities(state, sound[5 * WINDOW :]),
    ]
    expected = one_by_one(vad, sound.reshape(-1, WINDOW))
    np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-6)


def test_streams_that_are_judged_together_are_judged_as_alone(vad: SileroVad) -> None:
    rng = np.random.default_rng(3)
    streams = rng.integers(-9000, 9000, (5, 20, WINDOW)).astype(np.int16)
    streams[1] //= 300
    together, alone = ([VadState() for _ in streams] for _ in range(2))
    for n in range(streams.shape[1]):
        lanes = [lane for lane in range(len(streams)) if (n + lane) % 3]  # not all have a window
        found = vad.judge([together[i] for i in lanes], [streams[i, n] for i in lanes])
        expected = [vad.probability(alone[i], streams[i, n]) for i in lanes]
        np.testing.assert_allclose(found, expected, atol=1e-5)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.hidden, other.hidden, atol=1e-4)
        np.testing.assert_array_equal(one.context, other.context)


@pytest.mark.parametrize("samples", [0, 320, 513])
def test_half_a_window_is_refused(vad: SileroVad, samples: int) -> None:
    with pytest.raises(ValueError, match=f"{samples} samples, expected a multiple of 512"):
        vad.probability(VadState(), np.zeros(samples, np.int16))


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no voice activity model at"):
        SileroVad(tmp_path / "vad.onnx")
    (tmp_path / "vad.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"vad\.onnx cannot be loaded"):
        SileroVad(tmp_path / "vad.onnx")
