import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.asr.window import FULL, RATE, loudest_dbfs, quietest, voiced_seconds, window_for


def tone(seconds: float, level: float = 0.1) -> np.ndarray:
    return (level * np.sin(np.arange(int(seconds * RATE)) * 0.3)).astype(np.float32)


@pytest.mark.parametrize(
    ("seconds", "window_s"), [(0, 8), (1, 8), (7, 8), (7.5, 9), (20, 21), (29, 30), (29.9, 30)]
)
def test_the_window_is_eight_seconds_or_one_more_than_the_sound(
    seconds: float, window_s: float
) -> None:
    assert window_for(int(seconds * RATE)) == window_s * RATE
    assert window_for(0, 5 * RATE) == 5 * RATE


@given(st.integers(0, FULL))
def test_a_window_holds_the_sound_and_there_are_few_of_them(samples: int) -> None:
    window = window_for(samples)
    assert samples <= window <= FULL
    assert window % RATE == 0


def test_a_cut_is_made_in_the_pause() -> None:
    sound = np.concatenate([tone(20), tone(0.4, 0.001), tone(9)])
    assert 20 * RATE <= quietest(sound, 14 * RATE, 29 * RATE) <= 20.4 * RATE


@given(st.integers(0, 5 * RATE), st.integers(0, 5 * RATE), st.integers(0, 2**31))
def test_a_cut_lies_where_it_may(start: int, length: int, seed: int) -> None:
    sound = np.random.default_rng(seed).random(5 * RATE, np.float32)
    stop = min(start + length, sound.size)
    assert start <= quietest(sound, start, stop) <= stop


def test_levels() -> None:
    assert loudest_dbfs(np.zeros(1000, np.float32)) == -120
    assert loudest_dbfs(np.zeros(0, np.float32)) == -120
    assert loudest_dbfs(np.full(RATE, 0.1, np.float32)) == pytest.approx(-20)
    assert loudest_dbfs(np.full(7, 1.0, np.float32)) == pytest.approx(0)


def test_silence_around_speech_is_not_voiced() -> None:
    sound = np.concatenate([tone(1, 0.0005), tone(2), tone(1, 0.0005)])
    assert voiced_seconds(sound) == pytest.approx(2, abs=0.05)
    assert voiced_seconds(np.zeros(RATE, np.float32)) == 0
