"""The incremental spectrogram against faster-whisper's, which is Whisper's."""

import numpy as np
import pytest
from faster_whisper.feature_extractor import FeatureExtractor
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.asr.log_mel import ROOM, LogMel
from stages.mel import HOP

EXTRACTOR = FeatureExtractor()
WINDOW = 3 * 16_000


def sound(samples: int) -> np.ndarray:
    return np.random.default_rng(samples).normal(0, 0.1, samples).astype(np.float32)


def expected(samples: np.ndarray) -> np.ndarray:
    padded = np.zeros(WINDOW, np.float32)
    padded[: samples.size] = samples
    frames: np.ndarray = EXTRACTOR(padded, padding=0)
    return frames


@given(
    samples=st.one_of(st.integers(0, 1200), st.integers(1200, WINDOW - 16_000)),
    cuts=st.lists(st.integers(1, 20_000), max_size=6),
    look=st.booleans(),
)
@settings(max_examples=20)
def test_the_pieces_it_arrives_in_do_not_matter(samples: int, cuts: list[int], look: bool) -> None:
    heard, mel, at = sound(samples), LogMel(EXTRACTOR.mel_filters), 0
    for cut in [*cuts, samples]:
        mel.append(heard[at : at + cut])
        at = min(at + cut, samples)
        if look:
            mel.window(mel.samples, WINDOW)
    assert np.array_equal(mel.sound, heard)
    assert mel.window(samples, WINDOW) == pytest.approx(expected(heard), abs=1e-5)


@given(st.integers(0, 30_000), st.integers(0, 9_000))
@settings(max_examples=20)
def test_later_sound_can_be_left_out(samples: int, later: int) -> None:
    heard, mel = sound(samples + later), LogMel(EXTRACTOR.mel_filters)
    mel.append(heard)
    seen = mel.window(samples, WINDOW)
    if samples > 200 or not later:  # else what is mirrored before the beginning is later sound
        assert seen == pytest.approx(expected(heard[:samples]), abs=1e-5)


def test_what_is_dropped_still_counts_as_the_past() -> None:
    heard, mel = sound(60_000), LogMel(EXTRACTOR.mel_filters)
    mel.append(heard)
    mel.drop(200 * HOP)
    assert mel.samples == 60_000 - 200 * HOP
    mel.append(heard[:5_000])
    whole = LogMel(EXTRACTOR.mel_filters)
    whole.append(np.concatenate((heard, heard[:5_000])))
    mel.append(np.zeros(16_000, np.float32))
    whole.append(np.zeros(16_000, np.float32))
    seen, all_of_it = mel.window(32_000, 32_000), whole.window(64_000, 64_000)
    loud = seen > seen.min()
    # a row of a product may be rounded by its place in the matrix: that is up to the BLAS
    np.testing.assert_allclose(seen[loud], all_of_it[:, 200:][loud], rtol=0, atol=2e-6)


def test_a_turn_can_begin_again() -> None:
    mel = LogMel(EXTRACTOR.mel_filters)
    mel.append(sound(30_000))
    mel.clear()
    mel.append(sound(9_000))
    assert mel.window(9_000, WINDOW) == pytest.approx(expected(sound(9_000)), abs=1e-5)


def test_there_is_an_end_to_what_is_kept() -> None:
    mel = LogMel(EXTRACTOR.mel_filters)
    mel.append(np.zeros(ROOM, np.float32))
    with pytest.raises(ValueError, match="60 s of sound at once, at most 60 s fit"):
        mel.append(np.zeros(1, np.float32))
