import errno
import os
import stat
import subprocess
import sys
import wave

import numpy as np
import pytest

from pipeline.errors import AudioError, OutputError
from stages.audio.wav_sink import WavSink


def read(path):
    with wave.open(str(path), "rb") as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        return file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), "<i2")


def test_what_was_added_is_in_the_file(tmp_path):
    sink = WavSink(tmp_path / "answer.wav")
    samples = np.arange(-500, 500).astype(np.int16)
    sink.add(samples[:600], 22_050)
    sink.add(samples[600:], 22_050)
    assert sink.write()
    rate, heard = read(sink.path)
    assert rate == 22_050
    assert np.array_equal(heard, samples)
    assert os.listdir(tmp_path) == ["answer.wav"]  # noqa: PTH208


def test_pauses_are_silence(tmp_path):
    sink = WavSink(tmp_path / "answer.wav")
    sink.add(np.ones(10, np.int16), 16_000)
    sink.add(np.ones(10, np.int16), 16_000, pause_ns=1_000_000)
    sink.write()
    assert read(sink.path)[1].tolist() == [1] * 10 + [0] * 16 + [1] * 10
    assert sink.count == 36


def test_samples_are_copied(tmp_path):
    sink = WavSink(tmp_path / "answer.wav")
    block = np.ones(4, np.int16)
    sink.add(block, 16_000)
    block[:] = 7
    sink.write()
    assert read(sink.path)[1].tolist() == [1] * 4


def test_a_second_answer_of_the_turn_replaces_the_file_by_both(tmp_path):
    sink = WavSink(tmp_path / "answer.wav")
    for count in (3, 5):
        sink.add(np.full(count, count, np.int16), 8_000)
        sink.write()
    assert read(sink.path)[1].tolist() == [3] * 3 + [5] * 5


def test_nothing_heard_makes_no_file(tmp_path):
    assert not WavSink(tmp_path / "answer.wav").write()
    assert not list(tmp_path.iterdir())


def test_a_change_of_rate_is_refused(tmp_path):
    sink = WavSink(tmp_path / "answer.wav")
    sink.add(np.ones(1, np.int16), 22_050)
    with pytest.raises(AudioError, match="from 22050 to 16000 Hz"):
        sink.add(np.ones(1, np.int16), 16_000)


def test_others_may_read_it_as_the_umask_says(tmp_path):
    sink = WavSink(tmp_path / "answer.wav")
    sink.add(np.ones(1, np.int16), 16_000)
    before = os.umask(0o027)
    try:
        sink.write()
    finally:
        os.umask(before)
    assert stat.S_IMODE(sink.path.stat().st_mode) == 0o640


def test_a_missing_folder_is_named(tmp_path):
    sink = WavSink(tmp_path / "no" / "answer.wav")
    sink.add(np.ones(1, np.int16), 16_000)
    with pytest.raises(OutputError, match=r"no/answer\.wav cannot be written: No such file"):
        sink.write()


FULL = """
import numpy as np, pathlib, resource, sys
from pipeline.errors import OutputError
from stages.audio.wav_sink import WavSink
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
sink = WavSink(pathlib.Path(sys.argv[1]))
sink.add(np.ones(48_000, np.int16), 16_000)
try:
    sink.write()
except OutputError as error:
    sys.exit(0 if "cannot be written: File too large" in str(error) else str(error))
sys.exit("it was written")
"""


def test_a_disk_that_is_full_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "answer.wav"
    path.write_bytes(b"old")
    subprocess.run([sys.executable, "-c", FULL, str(path)], check=True, env=environment())
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"]


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_no_space_is_told_with_its_remedy(tmp_path, monkeypatch):
    def no_space(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sink = WavSink(tmp_path / "answer.wav")
    sink.add(np.ones(1, np.int16), 16_000)
    monkeypatch.setattr(wave.Wave_write, "writeframes", no_space)
    with pytest.raises(OutputError, match=r"No space left on device\. Free some space") as caught:
        sink.write()
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
