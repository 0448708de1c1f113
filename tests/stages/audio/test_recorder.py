"""Both sides of a lane in one file, on a clock of our own."""

import numpy as np
import pytest

from stages.audio.client import JITTER_NS, ClientSession
from stages.audio.playback import Span
from stages.audio.recorder import FLUSH_NS, Recorder
from stages.messages import Caption, CaptionKind, Command, End, Status
from stages.topology import INPUT_BLOCK

soundfile = pytest.importorskip("soundfile")
pytest.importorskip("soxr")
MS = 1_000_000
ZERO = 10**18


def ones(count, value=1):
    return np.full(count, value, np.int16)


def span(samples, ms, rate=16_000):
    return Span(1, samples, rate, ZERO + ms * MS)


def saved(folder):
    """int16 [frames], left and right."""
    (path,) = folder.iterdir()
    samples, rate = soundfile.read(path, dtype="int16")
    assert rate == 16_000
    return samples.T


@pytest.fixture
def recorder(make_lane, tmp_path):
    made = Recorder(make_lane("audio"), str(tmp_path), ZERO)
    yield made
    made.close()


def test_each_side_is_where_it_sounded(recorder, tmp_path):
    recorder.hear(ones(480, 5), ZERO)
    recorder.play(span(ones(160, 7), ms=20))
    recorder.hear(ones(480, 6), ZERO + 40 * MS)  # 10 ms were lost
    recorder.close()
    left, right = saved(tmp_path)
    assert left.tolist() == [5] * 480 + [0] * 160 + [6] * 480
    assert np.flatnonzero(right).tolist() == list(range(320, 480))


def test_the_file_is_up_to_date_every_second(recorder, tmp_path):
    recorder.hear(ones(4800), ZERO)
    recorder.step(ZERO + FLUSH_NS - 1)
    assert not list(tmp_path.iterdir())
    recorder.step(ZERO + FLUSH_NS)
    assert saved(tmp_path).shape == (2, 4800)


def test_a_voice_of_another_rate_keeps_its_length_and_place(recorder, tmp_path):
    rate = 22_050
    tone = (8000 * np.sin(np.arange(rate) / rate * 2 * np.pi * 440)).astype(np.int16)
    for first in range(0, rate, 441):
        recorder.play(span(tone[first : first + 441], ms=100 + first * 1000 // rate, rate=rate))
    recorder.step(ZERO + 3000 * MS)  # the end of it lies in the resampler no more
    left, right = saved(tmp_path)
    expected = 8000 * np.sin(np.arange(16_000) / 16_000 * 2 * np.pi * 440)
    assert len(right) == 1600 + 16_000
    assert not right[:1600].any()
    assert not left.any()
    middle = slice(200, -200)  # a sine that begins and ends at once is not band-limited there
    assert np.abs(right[1600:][middle] - expected[middle]).max() < 20


def test_a_voice_that_was_held_goes_on_behind_the_pause(recorder, tmp_path):
    recorder.play(span(ones(441, 100), ms=0, rate=22_050))
    recorder.play(span(ones(441, 100), ms=500, rate=22_050))
    recorder.close()
    _, right = saved(tmp_path)
    assert len(right) == 8000 + 320
    assert not right[400:7900].any()


def test_nothing_is_kept_without_a_folder(make_lane, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recorder = Recorder(make_lane("audio"), "", ZERO)
    recorder.hear(ones(512), ZERO)
    recorder.play(span(ones(512), ms=0))
    recorder.step(ZERO + FLUSH_NS)
    recorder.close()
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fails_is_told_once(make_lane, tmp_path):
    recorder = Recorder(make_lane("audio"), str(tmp_path / "gone"), ZERO)
    for second in (1, 2, 3):
        recorder.hear(ones(512), ZERO)
        recorder.play(span(ones(512), ms=0))
        recorder.step(ZERO + second * FLUSH_NS)
    recorder.close()
    ring = make_lane("control")._lane.command("captions_audio")
    (caption,) = map(Caption.unpack, ring.read())
    assert caption.kind is CaptionKind.ERROR
    assert b"cannot be written: No such file" in caption.payload
    assert caption.payload.endswith(b"Name another place with audio.record")


def test_a_process_that_is_back_goes_on_with_the_file(make_lane, tmp_path):
    lane = make_lane("audio")
    for value in (1, 2):
        recorder = Recorder(lane, str(tmp_path), ZERO)
        recorder.hear(ones(100, value), ZERO)
        recorder.close()
        lane.is_reopened = True
    assert saved(tmp_path)[0].tolist() == [1] * 100 + [2] * 100


class Client:
    """A program that is the edge, and everyone else on its lane."""

    def __init__(self, make_lane, folder):
        self.turn, self.tts = make_lane("turn"), make_lane("tts")
        self.now = ZERO
        self.session = ClientSession(make_lane("audio"), lambda: self.now, str(folder))

    def wait(self, ms):
        for _ in range(ms // 10):
            self.now += 10 * MS
            self.session.step()

    def say(self, value):
        self.session.feed(ones(INPUT_BLOCK, value))
        self.wait(ms=30)


def test_a_client_that_pauses_leaves_silence(make_lane, tmp_path):
    client = Client(make_lane, tmp_path)
    client.say(1)
    client.wait(ms=JITTER_NS // MS - 100)
    client.say(2)  # late, but not a pause
    client.wait(ms=1000)
    client.say(3)
    client.session.close()
    left, _ = saved(tmp_path)
    assert left[:1024].tolist() == [1] * 512 + [2] * 512
    assert set(left[1024:-512].tolist()) == {0}
    assert left[-512:].tolist() == [3] * 512
    assert len(left) > 16_000


def test_a_muted_microphone_is_not_kept(make_lane, tmp_path):
    client = Client(make_lane, tmp_path)
    client.say(1)
    client.session.command(Command.MUTE)
    client.say(2)
    client.session.command(Command.UNMUTE)
    client.say(3)
    client.session.close()
    assert sorted(set(saved(tmp_path)[0].tolist()) - {0}) == [1, 3]


def test_what_was_held_or_cut_is_not_kept(make_lane, tmp_path):
    client = Client(make_lane, tmp_path)
    client.turn.answer = client.turn.released = 1
    for n in range(50):
        client.tts.voice.put(ones(160, 9), first=160 * n, rate=16_000, answer=1, position=n + 1)
    client.tts.voice_end = End(1, 50, Status.OK)
    heard = []
    client.session.on_sound = lambda event: heard.append(getattr(event, "samples", ()))
    client.wait(ms=100)
    client.turn.hold = True
    client.wait(ms=200)
    client.turn.hold = False
    client.wait(ms=100)
    client.turn.answer = 2
    client.wait(ms=300)
    client.session.close()
    _, right = saved(tmp_path)
    assert 0 < np.count_nonzero(right) == sum(map(len, heard)) < 160 * 50
    assert not right[160 * 12 : 160 * 28].any()
    assert len(right) <= 160 * 41
