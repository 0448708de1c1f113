"""A WAV file that is whole at any time."""

import stat
import wave

import numpy as np
import pytest

from stages.audio import wav_stream
from stages.audio.wav_stream import WavStream


def read(path):
    with wave.open(str(path), "rb") as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (2, 2, 16_000)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2).tolist()


def frames(*values):
    return np.array([(value, -value) for value in values], np.int16)


@pytest.fixture
def stream(tmp_path):
    made = WavStream(tmp_path / "a.wav", 16_000, 2)
    yield made
    made.close()


def test_it_can_be_played_after_every_write(tmp_path, stream):
    stream.write(0, frames(1, 2))
    assert read(tmp_path / "a.wav") == [[1, -1], [2, -2]]
    stream.write(1, frames(7, 8))
    assert read(tmp_path / "a.wav") == [[1, -1], [7, -7], [8, -8]]
    stream.write(0, frames(5))
    assert read(tmp_path / "a.wav") == [[5, -5], [7, -7], [8, -8]]


def test_what_is_skipped_is_silence(tmp_path, stream):
    stream.write(2, frames(1))
    assert read(tmp_path / "a.wav") == [[0, 0], [0, 0], [1, -1]]


def test_it_is_for_its_owner_alone_and_replaces_nothing(tmp_path, stream):
    assert stat.S_IMODE((tmp_path / "a.wav").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        WavStream(tmp_path / "a.wav", 16_000, 2)


def test_it_can_be_gone_on_with(tmp_path, stream):
    stream.write(0, frames(1, 2))
    again = WavStream(tmp_path / "a.wav", 16_000, 2, resume=True)
    again.write(0, frames(3))
    again.close()
    again.close()
    assert read(tmp_path / "a.wav") == [[1, -1], [2, -2], [3, -3]]


def test_a_file_that_is_full_stays_as_it_is(tmp_path, stream, monkeypatch):
    monkeypatch.setattr(wav_stream, "LONGEST", 8)
    stream.write(0, frames(1, 2))
    with pytest.raises(OSError, match="too large"):
        stream.write(2, frames(3))
    assert read(tmp_path / "a.wav") == [[1, -1], [2, -2]]
