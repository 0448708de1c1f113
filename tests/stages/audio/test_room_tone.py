from pathlib import Path

import numpy as np
import pytest

from stages.audio.clip import Clip
from stages.audio.room_tone import QUIET_DBFS, RoomTone, noise_level


def clip(samples, rate=16_000):
    return Clip(Path("a.wav"), np.asarray(samples, np.float32), rate, 1)


def noise(seconds, dbfs, rate=16_000, seed=0):
    return np.random.default_rng(seed).normal(0, 10 ** (dbfs / 20), round(seconds * rate))


def dbfs(samples):
    return 20 * np.log10(np.sqrt(np.mean((samples / 32768.0) ** 2)))


@pytest.mark.parametrize("rate", [8_000, 44_100])
def test_the_level_is_that_of_the_quiet_moments(rate):
    samples = noise(4.0, -55, rate)
    samples[rate : 3 * rate] += noise(2.0, -15, rate, seed=1)
    assert noise_level(clip(samples, rate)) == pytest.approx(-55.5, abs=1.0)


def test_padding_with_zeros_is_not_the_room():
    samples = np.concatenate((np.zeros(16_000), noise(1.0, -55), np.zeros(16_000)))
    assert noise_level(clip(samples)) == pytest.approx(-55.5, abs=1.0)


@pytest.mark.parametrize("count", [1, 100, 160_000])
def test_digital_silence_gets_a_quiet_room(count):
    assert noise_level(clip(np.zeros(count))) == QUIET_DBFS


@pytest.mark.parametrize(("level", "expected"), [(-100, -80), (-10, -40)])
def test_the_level_is_bounded(level, expected):
    assert noise_level(clip(noise(1.0, level))) == expected


@pytest.mark.parametrize("level", [-80.0, -70.0, -55.0, -40.0])
def test_the_tone_has_the_level_that_was_asked_for(level):
    tone = RoomTone(level)
    assert dbfs(tone.take(16_000).astype(float)) == pytest.approx(level, abs=1.0)


def test_it_is_never_silent_and_never_jumps():
    tone = RoomTone(-60.0)
    blocks = [tone.take(320) for _ in range(300)]  # beyond the loop
    assert all(block.dtype == np.int16 and dbfs(block.astype(float)) > -70 for block in blocks)
    steps = np.abs(np.diff(np.concatenate(blocks).astype(int)))
    assert steps.max() < 6 * steps.mean()


def test_it_is_continuous_whatever_is_taken():
    one, other = RoomTone(-50.0), RoomTone(-50.0)
    whole = one.take(70_000)
    parts = [other.take(count) for count in (1, 319, 0, 32_000, 37_680)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_the_seed_decides():
    assert np.array_equal(RoomTone(seed=1).take(999), RoomTone(seed=1).take(999))
    assert not np.array_equal(RoomTone(seed=1).take(999), RoomTone(seed=2).take(999))
