import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.vits.noise import normal

PLACES = st.integers(0, 2**32 - 200)


@given(st.integers(0, 2**63 - 1), PLACES, st.integers(0, 60), st.integers(0, 60))
def test_a_place_has_its_noise_whoever_asks(key: int, first: int, skip: int, count: int) -> None:
    long = normal(key, first, skip + count, 5)
    assert np.array_equal(normal(key, first + skip, count, 5), long[:, skip:])
    assert np.array_equal(normal(key, first, skip + count, 3), long[:3])


def test_it_is_standard_normal() -> None:
    noise = normal(7, 0, 2000, 192)
    assert noise.dtype == np.float32
    assert abs(noise.mean()) < 0.005
    assert abs(noise.std() - 1) < 0.005
    assert abs((noise**4).mean() - 3) < 0.05
    neighbours = [np.corrcoef(noise[:, :-1].ravel(), noise[:, 1:].ravel())[0, 1]]
    neighbours += [np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]]
    neighbours += [np.corrcoef(noise.ravel(), normal(8, 0, 2000, 192).ravel())[0, 1]]
    assert np.abs(neighbours).max() < 0.01


def test_nothing_is_infinite() -> None:
    assert np.isfinite(normal(0, 2**32 - 100, 100, 192)).all()
