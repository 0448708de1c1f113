import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.tts.tones import (
    AMPLITUDE,
    IDS,
    LOWEST_RATE,
    SHORTEST_S,
    read_tones,
    read_whole_tones,
    tone,
)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, IDS - 1), max_size=12),
    st.sampled_from([LOWEST_RATE, 22_050, 24_000, 48_000]),
    st.sampled_from([SHORTEST_S, 0.06, 0.2]),
)
def test_ids_are_read_back(ids: list[int], rate: int, seconds: float) -> None:
    sound = [tone(id, rate, seconds) for id in ids]
    assert read_tones(np.concatenate([np.zeros(0, np.int16), *sound]), rate) == ids


def test_gaps_and_noise_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    parts = [np.zeros(777, np.int16), tone(5, 16_000, 0.05), np.zeros(1234, np.int16)]
    parts += [tone(5, 16_000, 0.05), tone(49_151, 16_000, 0.05)]
    sound = np.concatenate(parts)
    noisy = (sound * 0.5 + rng.normal(0, 60, len(sound))).astype(np.int16)
    assert read_tones(noisy, 16_000) == [5, 5, 49_151]


def test_a_tone_that_was_cut_off_is_not_an_id() -> None:
    whole = tone(7, 16_000, 0.06)
    assert read_tones(np.concatenate([whole, whole[:200]]), 16_000) == [7]


@pytest.mark.parametrize("id", [0, 63, 64, IDS - 1])
def test_a_tone_has_its_length_and_stays_below_full_scale(id: int) -> None:
    sound = tone(id, 16_000, 0.06)
    assert len(sound) == 960
    assert np.abs(sound).max() <= 3 * AMPLITUDE * 32767 + 1
    assert not sound[-240:].any()


def test_tones_that_were_held_or_broken_off() -> None:
    rate, seconds = 16_000, 0.06
    sound = np.concatenate([tone(id, rate, seconds) for id in (5, 5, 9)])
    pause = np.zeros(3000, np.int16)
    for held in range(0, len(sound), 97):
        parts = np.concatenate((sound[:held], pause, sound[held:]))
        assert read_whole_tones(parts, rate, seconds) == [5, 5, 9]
    for cut in range(0, len(sound), 7):
        whole = int((cut / rate + 0.002) / seconds)  # 2 ms less are not known from silence
        assert read_whole_tones(sound[:cut], rate, seconds) == [5, 5, 9][:whole]
