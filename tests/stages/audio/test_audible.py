import numpy as np
import pytest

from stages.audio.audible import FirstAudible

MS = 1_000_000
LOUD = 104  # of 32768: -49.97 dBFS


def test_the_first_window_that_is_loud_enough():
    samples = np.zeros(1600, np.int16)
    samples[480:640] = LOUD  # the fourth window
    assert FirstAudible().feed(samples, 16_000, 1000 * MS) == 1030 * MS


def test_just_below_the_threshold_is_not_audible():
    finder = FirstAudible()
    assert finder.feed(np.full(1600, LOUD - 1, np.int16), 16_000, 0) is None
    assert finder.found is None


@pytest.mark.parametrize("size", [1, 7, 159, 160, 161])
def test_windows_span_blocks(size):
    samples = np.zeros(800, np.int16)
    samples[320:] = 1000
    finder = FirstAudible()
    found = [
        finder.feed(samples[at : at + size], 16_000, at * 62_500) for at in range(0, 800, size)
    ]
    assert [at for at in found if at is not None] == [20 * MS]


def test_it_is_told_once():
    finder = FirstAudible()
    loud = np.full(320, 1000, np.int16)
    assert finder.feed(loud, 16_000, 5) == 5
    assert finder.feed(loud, 16_000, 9) is None
    assert finder.found == 5


def test_another_rate():
    samples = np.zeros(2205, np.int16)
    samples[441:] = -1000
    assert FirstAudible().feed(samples, 22_050, 0) == pytest.approx(20 * MS, abs=100_000)
