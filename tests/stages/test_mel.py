"""The filter bank against faster-whisper's; the frames are tested where they are used."""

import numpy as np
import pytest
from faster_whisper.feature_extractor import FeatureExtractor

from stages.mel import SILENCE, mel_filters, scaled


@pytest.mark.parametrize("count", [80, 128])
def test_the_filters_are_whispers(count: int) -> None:
    expected = FeatureExtractor(feature_size=count).mel_filters
    found = mel_filters(count)
    assert (found.dtype, found.shape) == (np.float32, (count, 201))
    assert found == pytest.approx(expected, abs=1e-8)


def test_frames_are_eighty_decibels_deep() -> None:
    log = np.array([[2.0, -3.0, -7.0, SILENCE]], np.float32)
    assert scaled(log) == pytest.approx(np.array([[1.5, 0.25, -0.5, -0.5]]))
