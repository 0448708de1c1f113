import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import AudioError
from stages.audio.convert import Converter, Encoding, Format, convert, decode, to_int16

pytest.importorskip("soxr")


def sine(rate, hz=440.0, seconds=1.0, amplitude=0.5):
    return amplitude * np.sin(2 * np.pi * hz * np.arange(round(rate * seconds)) / rate)


def s16(samples):
    return np.rint(samples * 32767).astype("<i2").tobytes()


def pitch(samples, rate=16_000):
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return np.argmax(spectrum) * rate / len(samples)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_second_stays_a_second_and_keeps_its_pitch(rate, channels):
    frames = np.zeros((rate, channels))
    frames[:, 0] = sine(rate)  # L = 440 Hz, R = silence
    converter = Converter(Format(rate, channels))
    data = s16(frames)
    parts = [converter.feed(data[i : i + 4096]) for i in range(0, len(data), 4096)]
    heard = np.concatenate((*parts, converter.finish()))
    assert abs(len(heard) - 16_000) <= 1
    assert pitch(heard) == pytest.approx(440, abs=2)
    loudness = np.sqrt(np.mean((heard[2000:-2000] / 32768) ** 2))
    assert loudness == pytest.approx(0.5 / np.sqrt(2) / channels, rel=0.02)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
def test_a_clip_of_a_second_stays_a_second(rate):
    heard = convert(sine(rate).astype(np.float32), rate)
    assert heard.dtype == np.int16
    assert abs(len(heard) - 16_000) <= 1
    assert pitch(heard) == pytest.approx(440, abs=2)


def test_a_clip_is_not_delayed():
    impulse = np.zeros(48_000, np.float32)
    impulse[24_000] = 1.0
    assert np.argmax(np.abs(convert(impulse, 48_000))) == 8_000


@given(st.lists(st.sampled_from([4063, 1697, 1, 0, 3, 640]), min_size=1, max_size=30))
def test_chunks_may_end_in_mid_sample(sizes):
    data = s16(sine(16_000))
    converter = Converter(Format(16_000))
    parts, at = [], 0
    for size in sizes:
        parts.append(converter.feed(data[at : at + size]))
        at += size
    whole = data[: min(at, len(data)) // 2 * 2]
    assert np.concatenate(parts).astype("<i2").tobytes() == whole


@pytest.mark.parametrize("encoding", Encoding)
def test_bytes_of_stereo_frames_are_carried_whole(encoding):
    samples = np.stack((sine(48_000, seconds=0.1), -sine(48_000, 300, seconds=0.1)), 1)
    data = encode(samples, encoding)
    whole = Converter(Format(48_000, 2, encoding))
    cut = Converter(Format(48_000, 2, encoding))
    expected = np.concatenate((whole.feed(data), whole.finish()))
    parts = [cut.feed(data[i : i + 7]) for i in range(0, len(data), 7)]
    assert np.array_equal(np.concatenate((*parts, cut.finish())), expected)
    assert len(expected) == pytest.approx(1_600, abs=1)


def encode(samples, encoding):
    match encoding:
        case Encoding.S16:
            return s16(samples)
        case Encoding.S24:
            wide = np.rint(samples * (2**23 - 1)).astype("<i4")
            return wide.view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
        case Encoding.S32:
            return np.rint(samples * (2**31 - 1)).astype("<i4").tobytes()
        case Encoding.F32:
            return samples.astype("<f4").tobytes()


@pytest.mark.parametrize("encoding", Encoding)
def test_every_width_decodes_to_the_same(encoding):
    samples = sine(16_000, seconds=0.01).reshape(-1, 1)
    decoded = decode(encode(samples, encoding), Format(16_000, 1, encoding))
    assert decoded == pytest.approx(samples, abs=1e-4)


def test_a_stream_that_was_reset_leaves_nothing_behind():
    converter = Converter(Format(48_000, 2))
    fresh = Converter(Format(48_000, 2))
    converter.feed(s16(np.ones((999, 2))) + b"\1\2\3")
    converter.reset()
    data = s16(np.stack((sine(48_000), sine(48_000)), 1))
    assert np.array_equal(converter.feed(data), fresh.feed(data))
    assert np.array_equal(converter.finish(), fresh.finish())
    assert np.array_equal(converter.feed(data), Converter(Format(48_000, 2)).feed(data))


def test_what_is_too_loud_is_clipped():
    assert to_int16(np.array([2.0, -2.0, 1.0, -1.0, 0.0], np.float32)).tolist() == [
        32767,
        -32768,
        32767,
        -32768,
        0,
    ]


def test_floats_that_are_not_numbers_are_silence():
    data = np.array([np.nan, np.inf, -np.inf], "<f4").tobytes()
    heard = Converter(Format(16_000, 1, Encoding.F32)).feed(data)
    assert heard.tolist() == [0, 32767, -32768]


@pytest.mark.parametrize(("rate", "channels"), [(0, 1), (16_000, 0), (-1, 1)])
def test_a_format_without_rate_or_channels_is_refused(rate, channels):
    with pytest.raises(AudioError, match="expected at least 1"):
        Format(rate, channels)
