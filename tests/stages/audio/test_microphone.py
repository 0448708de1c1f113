from pathlib import Path

import numpy as np
import pytest

from stages.audio.clip import Clip
from stages.audio.microphone import Microphone, record

pytest.importorskip("soxr")


def clip(count, rate=16_000, value=0.5):
    return Clip(Path("a.wav"), np.full(count, value, np.float32), rate, 1)


def test_room_tone_while_no_clip_plays():
    microphone = Microphone()
    blocks = [microphone.take() for _ in range(10)]
    assert all(block.size == 512 and block.dtype == np.int16 and block.any() for block in blocks)
    assert microphone.heard == 5120
    assert microphone.started is None


def test_a_clip_begins_with_the_next_block_and_room_tone_follows_it():
    microphone = Microphone()
    microphone.take()
    microphone.play(record(clip(800), 0.03))
    assert microphone.started == 512
    sound = np.concatenate([microphone.take() for _ in range(4)])
    assert (sound[:800] == 16384).all()
    assert sound[800:].any()
    assert np.abs(sound[800:]).max() < 1640  # the tone is at most -40 dBFS
    assert not microphone.is_playing


@pytest.mark.parametrize("count", [1, 511, 512, 513, 1024])
def test_it_ends_with_the_block_of_its_last_sample(count):
    microphone = Microphone()
    microphone.play(record(clip(count), None))
    taken = 0
    while microphone.is_playing:
        microphone.take()
        taken += 512
    assert taken - 512 < count <= taken


def test_a_clip_of_another_rate_is_converted():
    recording = record(clip(48_000, 48_000), 0.5)
    assert recording.samples.size == pytest.approx(16_000, abs=1)
    assert recording.speech_end == 8_000


def test_a_clip_can_be_stopped():
    microphone = Microphone()
    microphone.play(record(clip(5120), None))
    microphone.take()
    microphone.stop()
    assert np.abs(microphone.take()).max() < 1640
