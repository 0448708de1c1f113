"""Telephone codes and rates: chunk by chunk the same sound as at once."""

import base64
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.endpoint.realtime import g711
from pipeline.endpoint.realtime.sound import BadSoundError, Ear, Encoding, Mouth

ALL = np.arange(-32768, 32768, dtype=np.int32).astype(np.int16)


@pytest.mark.parametrize("mu", [True, False])
def test_every_byte_is_itself_again(mu: bool) -> None:
    data = bytes(range(256))
    again = g711.encode(g711.decode(data, mu=mu), mu=mu)
    assert g711.decode(again, mu=mu).tolist() == g711.decode(data, mu=mu).tolist()
    assert sum(a != b for a, b in zip(again, data, strict=True)) <= 1, "there are two zeros"


def test_values_of_the_standard() -> None:
    """ITU-T G.711: the ends of the scale, and the smallest steps."""
    assert g711.mu_law()[[0x00, 0x80, 0x7F, 0xFF]].tolist() == [-32124, 32124, 0, 0]
    assert g711.a_law()[[0x2A, 0xAA, 0x55, 0xD5]].tolist() == [-32256, 32256, -8, 8]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="audioop left Python with 3.13")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_decoding_is_what_audioop_does() -> None:
    import audioop

    data = bytes(range(256))
    assert g711.decode(data, mu=True).tobytes() == audioop.ulaw2lin(data, 2)
    assert g711.decode(data, mu=False).tobytes() == audioop.alaw2lin(data, 2)


@pytest.mark.parametrize("mu", [True, False])
def test_the_nearest_step_is_taken(mu: bool) -> None:
    table = np.sort((g711.mu_law() if mu else g711.a_law()).astype(np.int32))
    coded = g711.decode(g711.encode(ALL, mu=mu), mu=mu).astype(np.int32)
    place = np.searchsorted(table, ALL).clip(1, 255)
    best = np.minimum(np.abs(table[place] - ALL), np.abs(table[place - 1] - ALL))
    assert (np.abs(coded - ALL) == best).all()


def tone(rate: int, seconds: float = 0.5) -> np.ndarray:
    times = np.arange(round(seconds * rate)) / rate
    return (8000 * np.sin(2 * np.pi * 300 * times)).astype(np.int16)


def written(samples: np.ndarray, encoding: Encoding) -> bytes:
    if encoding is Encoding.PCM:
        return samples.astype("<i2").tobytes()
    return g711.encode(samples, mu=encoding is Encoding.MU_LAW)


@given(st.sampled_from(Encoding), st.lists(st.integers(1, 5000), max_size=20))
def test_however_it_is_cut_the_same_is_heard(encoding: Encoding, sizes: list[int]) -> None:
    """pipecat#5114: a sample may be cut in two."""
    data = written(tone(encoding.rate), encoding)
    parts, at = [], 0
    for size in sizes:
        parts.append(data[at : at + size])
        at += size
    parts.append(data[at:])
    ear, whole = Ear(encoding), Ear(encoding)
    heard = [ear.hear(base64.b64encode(part).decode())[0] for part in parts]
    heard.append(ear.rest())
    at_once = [whole.hear(base64.b64encode(data).decode())[0], whole.rest()]
    assert np.concatenate(heard).tolist() == np.concatenate(at_once).tolist()
    assert abs(sum(map(len, heard)) - 8000) <= 1


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("rate", [16_000, 22_050, 24_000])
def test_an_answer_is_as_long_and_as_loud_as_it_was(encoding: Encoding, rate: int) -> None:
    mouth, sound = Mouth(encoding), tone(rate)
    data = b"".join(mouth.say(sound[n : n + 441], rate) for n in range(0, len(sound), 441))
    data += mouth.rest()
    assert abs(encoding.ms(len(data)) - 500) < 0.5
    heard = (
        np.frombuffer(data, "<i2")
        if encoding is Encoding.PCM
        else g711.decode(data, mu=encoding is Encoding.MU_LAW)
    )
    middle = heard[len(heard) // 4 : 3 * len(heard) // 4].astype(np.float64)
    assert abs(np.sqrt(np.mean(middle**2)) - 8000 / np.sqrt(2)) < 200


def test_what_is_no_base64_is_refused_and_the_next_is_heard() -> None:
    ear = Ear()
    for bad in ("A", "AA=A", "====", "\u00e9\u00e9\u00e9\u00e9", "A A A A"):
        with pytest.raises(BadSoundError):
            ear.hear(bad)
    samples, ms = ear.hear(base64.b64encode(bytes(48_000)).decode())
    assert ms == 1000
    assert len(samples) > 15_000


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 480])
def test_how_long_base64_sounds_is_known_before_it_is_decoded(
    encoding: Encoding, size: int
) -> None:
    ear = Ear(encoding)
    text = base64.b64encode(bytes(size)).decode()
    assert ear.ms(text) == ear.hear(text)[1]
