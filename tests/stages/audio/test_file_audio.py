import wave

import numpy as np
import pytest

from ringbuf import Mark
from stages.audio.file import BLOCK_NS, FileSession
from stages.event import Event
from stages.messages import (
    Caption,
    CaptionKind,
    Command,
    CommandAt,
    End,
    Levels,
    Played,
    PlayOrder,
    Status,
)

soundfile = pytest.importorskip("soundfile")
pytest.importorskip("soxr")
MS = 1_000_000


class World:
    """One lane as all of its processes see it, with a session of the file edge."""

    def __init__(self, make_lane, folder):
        self.folder = folder
        self.turn, self.tts, self.control = (make_lane(n) for n in ("turn", "tts", "control"))
        self.lane = make_lane("audio")
        self.zero = self.now = time_ns()
        self.session = FileSession(self.lane, lambda: self.now)
        self.heard = []

    def run(self, ms):
        """Let time pass, stepping when the session is due; `turn` reads all it hears."""
        until = self.now + ms * MS
        while self.session.due <= until:
            self.now = max(self.now, self.session.due)
            self.session.step()
            self.read_mic()
        self.now = until

    def read_mic(self):
        with self.turn.mic.read() as batch:
            self.heard += [(b.first, b.samples.copy(), b.lost) for b in batch]

    def order(self, clip, **options):
        assert self.control.orders.put(PlayOrder(str(clip), **options).pack())

    def clip(self, seconds=0.5, value=0.5, rate=16_000):
        path = self.folder / "clip.wav"
        soundfile.write(path, np.full(round(seconds * rate), value), rate)
        return path

    def answer(self, number, blocks=10, value=1000, rate=22_050):
        self.turn.answer = number
        for i in range(blocks):
            samples = np.full(441, value, np.int16)
            assert self.tts.voice.put(
                samples, first=441 * i, rate=rate, answer=number, position=i + 1
            )
        self.tts.voice_end = End(number, blocks, Status.OK)
        self.turn.released = number

    def events(self):
        return [
            (Event(record.event), round((record.at - self.zero) / MS, 2))
            for record in self.lane._events.take()
        ]

    def captions(self):
        ring = self.control._lane.command("captions_audio")
        return [Caption.unpack(message) for message in ring.read()]


def time_ns():
    import time

    return time.monotonic_ns()


@pytest.fixture
def world(make_lane, tmp_path):
    return World(make_lane, tmp_path)


def test_the_microphone_is_on_from_the_first_instant(world):
    world.run(100)
    assert [first for first, _, _ in world.heard] == [0, 512, 1024]
    assert all(samples.size == 512 and samples.any() for _, samples, _ in world.heard)


def test_late_blocks_come_together_and_nothing_drifts(world):
    world.run(30)
    world.now += 95 * MS
    world.session.step()
    world.read_mic()
    assert len(world.heard) == 3  # of 125 ms
    assert world.session.due == world.zero + 4 * BLOCK_NS


def test_a_block_is_not_written_before_its_last_sample(world):
    world.now += 31 * MS
    world.session.step()
    world.read_mic()
    assert world.heard == []


def test_a_clip_is_played_and_its_end_told(world):
    world.run(50)
    world.order(world.clip(0.5), speech_end_s=0.31)
    world.session.step()
    world.run(700)
    sound = np.concatenate([samples for _, samples, _ in world.heard])
    start = 512  # the block after the order
    assert (sound[start : start + 8000] == 16384).all()
    assert np.abs(sound[:start]).max() < 100
    assert world.events() == [
        (Event.OPENED, 0.0),
        (Event.CLIP_START, 32.0),
        (Event.SPEECH_END, 342.0),
    ]
    assert [(c.kind, c.payload) for c in world.captions()] == [(CaptionKind.CLIP, b"")]


def test_clips_follow_each_other(world):
    for _ in range(2):
        world.order(world.clip(0.1))
    world.run(300)
    assert world.events() == [
        (Event.OPENED, 0.0),
        (Event.CLIP_START, 0.0),
        (Event.CLIP_START, 128.0),
    ]
    assert len(world.captions()) == 2


def test_a_bad_clip_is_told_and_the_lane_lives(world):
    world.order(world.folder / "missing.wav")
    world.order(world.clip(0.1))
    world.run(300)
    bad, good = world.captions()
    assert bad.kind is good.kind is CaptionKind.CLIP
    assert b"missing.wav does not exist" in bad.payload
    assert good.payload == b""


def test_an_answer_is_played_and_written(world):
    out = world.folder / "answer.wav"
    world.order(world.clip(0.1), out=str(out))
    world.run(200)
    world.events()
    world.answer(1)
    world.session.step()
    world.run(300)
    with wave.open(str(out), "rb") as file:
        assert (file.getframerate(), file.getnframes()) == (22_050, 4410)
        assert set(np.frombuffer(file.readframes(4410), "<i2")) == {1000}
    events = world.events()
    start = events[0][1]
    assert events == [
        (Event.PLAY_START, start),
        (Event.FIRST_AUDIO, start),
        (Event.PLAY_END, start + 200.0),
    ]
    assert world.turn.played == Played(1, 10, True)


def test_an_answer_that_is_cut_is_written_as_far_as_it_was_heard(world):
    out = world.folder / "answer.wav"
    world.order(world.clip(0.1), out=str(out))
    world.run(200)
    world.answer(1)
    world.session.step()
    world.run(100)
    world.turn.answer = 2
    world.session.step()
    assert world.turn.played.answer == 1
    assert world.turn.played.final
    with wave.open(str(out), "rb") as file:
        assert 1300 < file.getnframes() < 2300
    world.answer(2, blocks=5)
    world.session.step()
    world.run(200)
    assert world.turn.played == Played(2, 5, True)


def test_an_answer_that_cannot_be_written_is_told(world):
    world.order(world.clip(0.1), out=str(world.folder / "no" / "answer.wav"))
    world.run(200)
    world.captions()
    world.answer(1)
    world.run(400)
    (caption,) = world.captions()
    assert caption.kind is CaptionKind.ERROR
    assert b"cannot be written: No such file" in caption.payload
    assert world.turn.played == Played(1, 10, True)


def test_without_out_nothing_is_written(world):
    world.order(world.clip(0.1))
    world.run(200)
    world.answer(1)
    world.run(400)
    assert [path.name for path in world.folder.iterdir()] == ["clip.wav"]


def test_an_answer_belongs_to_the_clip_before_it(world):
    first, second = world.folder / "1.wav", world.folder / "2.wav"
    world.order(world.clip(0.1), out=str(first))
    world.run(200)
    world.answer(1)
    world.run(40)
    world.order(world.clip(0.1), out=str(second))
    world.run(40)
    world.turn.answer = 2
    world.run(40)
    world.answer(2, value=7)
    world.run(400)
    for path, value in ((first, 1000), (second, 7)):
        with wave.open(str(path), "rb") as file:
            assert set(np.frombuffer(file.readframes(9999), "<i2")) == {value}


def test_a_microphone_that_nobody_reads_loses_the_newest(world):
    world.now += 6400 * MS  # the ring holds 4.096 s
    world.session.step()
    world.read_mic()
    assert [first for first, _, _ in world.heard] == list(range(0, 128 * 512, 512))
    world.run(32)
    first, _, lost = world.heard[-1]
    assert (first, lost) == (200 * 512, 72 * 512)


def test_after_a_failure_the_next_turn_works(world):
    out = world.folder / "answer.wav"
    world.order(world.clip(1.0), out=str(out))
    world.run(100)
    world.answer(1)
    world.run(60)
    world.session.fail(RuntimeError("broken"))
    assert world.turn.played == Played(1, world.turn.played.position, True, failed=True)
    assert [c.payload for c in world.captions()] == [b"broken"]
    assert out.exists()
    world.order(world.clip(0.1), out=str(out))
    world.run(200)
    world.answer(2)
    world.run(400)
    assert world.turn.played == Played(2, 10, True)


def test_close_keeps_what_was_heard(world):
    out = world.folder / "answer.wav"
    world.order(world.clip(0.1), out=str(out))
    world.run(200)
    world.answer(1)
    world.run(100)
    world.session.close()
    assert out.exists()


def test_marks_and_numbers_of_the_microphone_are_empty(world):
    world.now += 32 * MS
    world.session.step()
    with world.turn.mic.read() as batch:
        (block,) = batch
        assert (block.turn, block.answer, block.mark, block.rate) == (0, 0, Mark.NONE, 16_000)


def test_a_command_is_passed_on_with_its_place_in_the_sound(world):
    world.run(100)  # three blocks
    assert world.control.orders.put(Command.COMMIT.pack())
    world.order(world.clip(0.1))
    assert world.control.orders.put(Command.CANCEL.pack())
    world.session.step()
    passed = [CommandAt.unpack(message) for message in world.turn.commands.read()]
    assert passed == [CommandAt(Command.COMMIT, 3 * 512), CommandAt(Command.CANCEL, 3 * 512)]
    world.run(200)
    assert [c.kind for c in world.captions()] == [CaptionKind.CLIP], "and the clip was played"


def test_a_command_without_room_is_told(world):
    message = CommandAt(Command.CANCEL, 0).pack()
    while world.lane.commands.put(message):
        pass
    assert world.control.orders.put(Command.MUTE.pack())
    world.session.step()
    (caption,) = world.captions()
    assert caption.kind is CaptionKind.ERROR
    assert caption.payload == b"too many commands are waiting: mute was dropped"


def test_a_muted_microphone_is_not_recorded(world):
    (world.folder / "kept").mkdir()
    session = FileSession(world.lane, lambda: world.now, str(world.folder / "kept"))
    world.session = session
    world.order(world.clip(0.9))
    world.run(320)
    assert world.control.orders.put(Command.MUTE.pack())
    world.run(320)
    assert world.control.orders.put(Command.UNMUTE.pack())
    world.run(320)
    session.close()
    (path,) = (world.folder / "kept").iterdir()
    left = soundfile.read(path, dtype="int16")[0][:, 0]
    loud = [bool(left[at : at + 512].any()) for at in range(0, 28 * 512, 512)]
    assert loud[3:9] == [True] * 6
    assert loud[12:18] == [False] * 6
    assert loud[23:28] == [True] * 5


def test_levels_of_both_sides(world):
    assert world.turn.levels == Levels()
    world.order(world.clip(0.5, value=0.5))
    world.run(320)
    assert world.turn.levels.microphone == pytest.approx(-6.02, abs=0.01)
    assert world.turn.levels.loudspeaker == Levels.SILENT
    world.answer(1, value=1000)
    world.run(100)
    assert world.turn.levels.loudspeaker == pytest.approx(-30.3, abs=0.1)
    world.run(400)
    assert world.turn.levels.microphone < -40, "room tone"
    assert world.turn.levels.loudspeaker == Levels.SILENT
