import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.clauses import Ending
from stages.tts.sound import Rests, fade, to_int16, trim

RATE = 22_050


def tone(seconds: float, level: float = 0.5) -> np.ndarray:
    time = np.arange(round(seconds * RATE)) / RATE
    return (level * np.sin(2 * np.pi * 200 * time)).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.float32)


def test_silence_around_a_clause_is_dropped() -> None:
    sound = trim(np.concatenate([silence(0.2), tone(0.5), silence(0.4)]), RATE)
    assert 0.5 <= len(sound) / RATE <= 0.56
    loud = np.flatnonzero(np.abs(sound) > 0.01)
    assert loud[0] / RATE <= 0.02


def test_silence_inside_a_clause_stays() -> None:
    sound = trim(np.concatenate([tone(0.2), silence(0.3), tone(0.2)]), RATE)
    assert 0.7 <= len(sound) / RATE <= 0.71


def test_silence_alone_gives_nothing() -> None:
    assert len(trim(silence(1.0), RATE)) == 0
    assert len(trim(silence(0.0), RATE)) == 0
    assert len(trim(tone(1.0, level=0.001), RATE)) == 0


def test_edges_rise_from_zero_and_fall_to_it() -> None:
    sound = trim(tone(0.1001, level=0.9) + np.float32(0.05), RATE)
    assert sound[0] == sound[-1] == 0
    whole = np.concatenate([silence(0.01), sound, silence(0.01)])
    inside = np.abs(np.diff(tone(0.1, level=0.9))).max()
    assert np.abs(np.diff(whole)).max() <= 1.5 * inside


@given(st.integers(0, 400))
def test_a_fade_keeps_the_length_and_the_original(size: int) -> None:
    samples = np.ones(size, np.float32)
    assert len(fade(samples, RATE)) == size
    assert samples.all()


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0, 0), (1.0, 32767), (-1.0, -32767), (9.0, 32767)]
)
def test_full_scale(value: float, expected: int) -> None:
    samples = to_int16(np.array([value], np.float32))
    assert samples.dtype == np.int16
    assert samples.tolist() == [expected]


def test_rests_follow_the_ending() -> None:
    rests = Rests(sentence=0.3, phrase=0.1, word=0.0)
    lengths = [len(rests.after(ending, 1000)) for ending in Ending]
    assert lengths == [300, 100, 0]
    assert rests.after(Ending.SENTENCE, 1000).dtype == np.int16
