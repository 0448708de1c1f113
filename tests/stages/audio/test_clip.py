import builtins
import io
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import AudioError
from stages.audio.clip import load_clip
from stages.audio.riff import promised_frames

soundfile = pytest.importorskip("soundfile")
RATE = 16_000


def sine(seconds=1.0, rate=RATE, hz=440.0):
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype("f4")


def write(path, samples, rate=RATE, **options):
    soundfile.write(path, samples, rate, **options)
    return path


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.wav", {"subtype": "PCM_16"}),
        ("a.wav", {"subtype": "PCM_24"}),
        ("a.wav", {"subtype": "FLOAT"}),
        ("a.wav", {"subtype": "ULAW"}),
        ("a.wav", {"subtype": "PCM_U8"}),
        ("a.flac", {"subtype": "PCM_24"}),
        ("a.mp3", {}),
        ("a.ogg", {}),
    ],
)
@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_every_format_gives_the_same_sine(tmp_path, name, options, rate):
    clip = load_clip(write(tmp_path / name, sine(rate=rate), rate, **options))
    assert (clip.rate, clip.channels, clip.truncated) == (rate, 1, None)
    assert clip.samples.dtype == np.float32
    assert clip.duration_s == pytest.approx(1.0, abs=1 / rate)
    middle = slice(rate // 4, rate // 2)
    assert clip.samples[middle] == pytest.approx(sine(rate=rate)[middle], abs=0.06)


def test_stereo_is_mixed_down_though_its_rate_is_right(tmp_path):
    left = sine()
    clip = load_clip(write(tmp_path / "a.wav", np.stack((left, np.zeros_like(left)), 1)))
    assert clip.channels == 2
    assert clip.duration_s == 1.0
    assert clip.samples == pytest.approx(left / 2, abs=1e-4)


def test_pcm_16_is_exact(tmp_path):
    samples = np.arange(-32768, 32768, 7).astype(np.int16)
    clip = load_clip(write(tmp_path / "a.wav", samples))
    assert np.array_equal(clip.samples * 32768, samples)


def cut(path, share=0.6):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "ULAW"])
def test_a_wav_that_is_cut_off_is_read_and_says_how_much_is_missing(tmp_path, subtype):
    clip = load_clip(cut(write(tmp_path / "a.wav", sine(3.0), subtype=subtype)))
    assert 1.7 < clip.duration_s < 1.9
    assert f"48000 frames (3.00 s), it has {clip.samples.size}" in (clip.truncated or "")


def test_a_flac_that_is_cut_off_is_read_to_its_last_good_block(tmp_path):
    noise = np.random.default_rng(0).normal(0, 0.1, 48_000)
    clip = load_clip(cut(write(tmp_path / "a.flac", noise)))
    assert 1.5 < clip.duration_s < 1.85
    assert "48000 frames (3.00 s)" in (clip.truncated or "")
    assert clip.samples == pytest.approx(noise[: clip.samples.size], abs=1e-4)


def test_an_mp3_that_is_cut_off_is_read(tmp_path):
    clip = load_clip(cut(write(tmp_path / "a.mp3", sine(3.0))))
    assert 1.0 < clip.duration_s < 2.0
    assert "48000 frames (3.00 s)" in (clip.truncated or "")


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.mp3", "a.ogg"])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.05])
def test_a_file_cut_off_in_its_header_is_an_error_or_a_warning(tmp_path, name, share):
    path = cut(write(tmp_path / name, sine(3.0)), share)
    try:
        assert load_clip(path).truncated
    except AudioError as error:
        assert str(path) in str(error)  # noqa: PT017


def test_a_wav_of_a_program_that_streams_is_whole(tmp_path):
    path = write(tmp_path / "a.wav", sine())
    data = bytearray(path.read_bytes())
    at = data.index(b"data")
    data[4:8] = data[at + 4 : at + 8] = struct.pack("<I", 0xFFFFFFFF)
    path.write_bytes(data)
    clip = load_clip(path)
    assert (clip.samples.size, clip.truncated) == (RATE, None)


def test_an_adpcm_wav_has_no_frames_to_promise(tmp_path):
    path = write(tmp_path / "a.wav", sine(), subtype="IMA_ADPCM")
    assert promised_frames(path) is None
    assert load_clip(path).truncated is None


@pytest.mark.parametrize(
    "data", [b"RIFF", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\1"]
)
def test_a_broken_header_promises_nothing(tmp_path, data):
    path = tmp_path / "a.wav"
    path.write_bytes(data)
    assert promised_frames(path) is None
    with pytest.raises(AudioError, match="is not sound that can be read"):
        load_clip(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(AudioError, match=r"nothing\.wav does not exist"):
        load_clip(tmp_path / "nothing.wav")


def test_a_file_in_a_missing_folder_or_below_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "no" / "a.wav", tmp_path / "file" / "a.wav"):
        with pytest.raises(AudioError, match=r"does not exist|cannot be read"):
            load_clip(path)


def test_a_folder(tmp_path):
    with pytest.raises(AudioError, match="is a folder"):
        load_clip(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = write(tmp_path / "a.wav", sine())
    path.chmod(0)
    with pytest.raises(AudioError, match="cannot be read: Permission denied"):
        load_clip(path)


def test_an_empty_file(tmp_path):
    (tmp_path / "a.wav").touch()
    with pytest.raises(AudioError, match=r"is empty \(0 bytes\)"):
        load_clip(tmp_path / "a.wav")


def test_text_is_not_sound(tmp_path):
    path = tmp_path / "a.wav"
    path.write_text("hello\n")
    with pytest.raises(AudioError, match=r"is not sound that can be read.*ffmpeg -i a.wav"):
        load_clip(path)


def test_raw_sound_is_refused(tmp_path):
    path = tmp_path / "a.raw"
    path.write_bytes(bytes(32_000))
    with pytest.raises(AudioError, match="is raw sound"):
        load_clip(path)


def test_zero_samples(tmp_path):
    with pytest.raises(AudioError, match="has no samples"):
        load_clip(write(tmp_path / "a.wav", np.zeros(0, np.float32)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_samples_that_are_not_numbers(tmp_path, value):
    samples = sine()
    samples[100:103] = value
    with pytest.raises(AudioError, match="has 3 samples that are not finite"):
        load_clip(write(tmp_path / "a.wav", samples, subtype="FLOAT"))


def test_a_rate_that_cannot_be_right(tmp_path):
    with pytest.raises(AudioError, match="has 1 samples per second"):
        load_clip(write(tmp_path / "a.wav", sine(), rate=1))


def test_a_header_that_lies_about_its_length(tmp_path):
    path = write(tmp_path / "a.flac", sine())
    data = bytearray(path.read_bytes())
    data[21:26] = b"\xff\xff\xff\xff\xff"  # 36 bits of STREAMINFO: total samples
    path.write_bytes(data)
    with pytest.raises(AudioError, match="expected at most 268435456"):
        load_clip(path)


def test_without_soundfile_the_remedy_names_the_extra(tmp_path, monkeypatch):
    path = write(tmp_path / "a.wav", sine())
    real = builtins.__import__

    def fake(name, *args, **kwargs):
        if name == "soundfile":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake)
    with pytest.raises(AudioError, match=r"pip install 'voxring\[local\]'"):
        load_clip(path)


def test_every_error_is_one_line(tmp_path):
    for content in (b"", b"x", b"RIFF" + bytes(100), io.BytesIO().getvalue()):
        path = Path(tmp_path / "a.wav")
        path.write_bytes(content)
        with pytest.raises(AudioError) as caught:
            load_clip(path)
        assert "\n" not in str(caught.value)


def test_recorded_speech_of_many_formats(recordings):
    expected = {"jfk.flac": (44_100, 2, 11.0), "cars.wav": (48_000, 1, 4.62)}
    for name, (rate, channels, seconds) in expected.items():
        clip = load_clip(recordings / name)
        assert (clip.rate, clip.channels, clip.truncated) == (rate, channels, None)
        assert clip.duration_s == pytest.approx(seconds, abs=0.01)
