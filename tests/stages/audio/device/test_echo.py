"""What the microphone hears of the loudspeaker is found and taken out."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.sound_card import RATE, Room
from pipeline.config import AudioConfig
from pipeline.errors import AudioError
from stages.audio.clip import load_clip
from stages.audio.convert import resample
from stages.audio.device.echo import FRAME, EchoLoss, Pairing, Played
from stages.audio.device.edge import processor
from tests.stages.audio.device.desk import Desk, open_desk

Samples = np.ndarray
QUESTION = Path(__file__).parents[4] / "demos" / "question.wav"


class Recorded:
    """A canceller that takes nothing out, and remembers what it was given."""

    only_echo = True

    def __init__(self) -> None:
        self.pairs: list[tuple[Samples, Samples]] = []

    def process(self, heard: Samples, played: Samples | None) -> Samples:
        assert played is not None
        self.pairs.append((heard, played))
        return heard


def noise(seconds: float, seed: int = 0, level: float = 3000.0) -> Samples:
    """Like a voice in that it comes and goes."""
    generator = np.random.default_rng(seed)
    size = round(seconds * RATE)
    swell = 0.55 + 0.45 * np.sin(2 * np.pi * 3 * np.arange(size) / RATE)
    return (
        np.round(level * swell * generator.standard_normal(size)).clip(-32768, 32767).astype("i2")
    )


def say(desk: Desk, answer: int, samples: Samples) -> None:
    desk.speak(answer, samples, RATE)
    desk.session.step()
    desk.run(len(samples) * 1000 // RATE + 500)


@pytest.mark.parametrize("delay_ms", [0, 40, 200])
def test_what_was_played_comes_with_what_the_microphone_hears_of_it(delay_ms: int) -> None:
    """The echo lies behind it by the room's delay and the margin of 20 ms, and nothing else."""
    mine = Recorded()
    room = Room(echo_db=-6.0, delay_s=delay_ms / 1000)
    room._response = np.ones(1, np.float32)
    with open_desk(room, processor=lambda config: mine, echo="cancel") as desk:
        desk.run(500)
        say(desk, 1, noise(1.5))
        heard, played = (
            np.concatenate(side).astype(float) for side in zip(*mine.pairs, strict=True)
        )
    shifts = np.arange(0, 300 * RATE // 1000, 4)
    likeness = [np.dot(heard[shift:], played[: len(played) - shift]) for shift in shifts]
    assert 1000 * shifts[np.argmax(likeness)] / RATE == pytest.approx(20 + delay_ms, abs=1)


def test_the_canceller_rests_while_nothing_is_played() -> None:
    mine = Recorded()
    with open_desk(Room(), processor=lambda config: mine, echo="cancel") as desk:
        desk.run(3000)
        assert not mine.pairs
        say(desk, 1, noise(0.5))
        desk.run(3000)
        assert 0.5 * 100 < len(mine.pairs) < 1.8 * 100
        count = len(np.concatenate(desk.heard))
        assert count == pytest.approx(7 * RATE, abs=0.1 * RATE)  # and nothing is missing


def test_until_the_room_is_known_an_echo_is_not_taken_for_somebody() -> None:
    mine = Recorded()
    room = Room(echo_db=0.0, delay_s=0.05)
    with open_desk(room, processor=lambda config: mine, echo="cancel") as desk:
        desk.run(500)
        say(desk, 1, noise(2.0))
        heard = np.concatenate(desk.heard).astype(float)
        assert np.abs(heard).max() < 150
        say(desk, 2, noise(2.0))  # three seconds are over: it has had its time
        heard = np.concatenate(desk.heard[-60:]).astype(float)
        assert np.abs(heard).max() > 1500


@pytest.mark.parametrize(("echo_db", "delay_ms"), [(-20.0, 120), (-10.0, 200)])
def test_the_real_canceller_learns_a_room(echo_db: float, delay_ms: int) -> None:
    pytest.importorskip("livekit.rtc", reason="the extra `talk` is not installed")
    room = Room(echo_db=echo_db, delay_s=delay_ms / 1000)
    with open_desk(room, processor=processor, echo="cancel") as desk:
        desk.run(500)
        say(desk, 1, noise(6.0))
        assert desk.control.device.echo_loss_db > 15
        say(desk, 2, noise(3.0, seed=1))
        behind = np.concatenate(desk.heard[-60:]).astype(float)
        assert np.sqrt(np.mean(behind**2)) < 40  # the echo has 100 to 300
        desk.run(1500)
        desk.card.room.say(noise(1.0, seed=2))
        desk.run(1200)
        somebody = np.concatenate(desk.heard[-36:]).astype(float)
        assert np.sqrt(np.mean(somebody**2)) > 1000


def test_a_voice_too_soft_is_brought_up_and_one_loud_enough_is_not() -> None:
    pytest.importorskip("livekit.rtc", reason="the extra `talk` is not installed")
    clip = load_clip(QUESTION)
    voice = np.tile(resample(clip.samples, clip.rate, RATE), 4)
    voice = voice / np.sqrt(np.mean(voice**2))
    gains_db = {}
    for dbfs in (-45.0, -20.0):
        said = voice * 32768 * 10 ** (dbfs / 20)
        with open_desk(processor=processor, gain_control=True) as desk:
            desk.card.room.say(said.clip(-32768, 32767).astype("i2"))
            desk.run(len(said) * 1000 // RATE)
            heard = np.concatenate(desk.heard[-60:]).astype(float)
            gains_db[dbfs] = 20 * np.log10(np.std(heard) / np.std(said[-60 * 512 :]))
    assert gains_db[-45.0] > gains_db[-20.0] + 6


def test_steady_noise_is_suppressed() -> None:
    pytest.importorskip("livekit.rtc", reason="the extra `talk` is not installed")
    hiss = np.random.default_rng(3).standard_normal(6 * RATE) * 500
    levels = {}
    for is_on in (False, True):
        with open_desk(processor=processor, noise_suppression=is_on) as desk:
            desk.card.room.say(hiss.astype(np.int16))
            desk.run(5500)
            levels[is_on] = float(np.std(np.concatenate(desk.heard[-60:]).astype(float)))
    assert levels[True] < levels[False] / 2


def test_without_its_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "livekit", None)
    with pytest.raises(AudioError, match=r"pip install 'voxring\[talk\]'"):
        processor(AudioConfig(stage="device", echo="cancel"))
    assert processor(AudioConfig(stage="device")) is None


def test_what_was_played_can_be_asked_by_time() -> None:
    played = Played(RATE)
    played.add(np.arange(1, 1001, dtype=np.float32) / 32768)
    assert played.take(0, 4).tolist() == [1, 2, 3, 4]
    assert played.take(-2, 4).tolist() == [0, 0, 1, 2]
    assert played.take(998, 4).tolist() == [999, 1000, 0, 0]
    for _ in range(70):
        played.add(np.full(1000, 0.5, np.float32))
    assert played.take(0, 4).tolist() == [0, 0, 0, 0]  # long ago


def test_clocks_that_part_are_set_again_in_silence() -> None:
    pairing = Pairing()
    assert pairing.find(0, 1000, is_silent=True) == 1000
    assert pairing.find(160, 1400, is_silent=True) == 1160  # 15 ms: jitter
    assert pairing.find(320, 1800, is_silent=False) == 1320  # 30 ms, but something sounds
    assert pairing.find(480, 1960, is_silent=True) == 1960
    assert pairing.corrections == 1


def test_a_room_must_be_found_again_when_sound_was_lost() -> None:
    mine = Recorded()
    room = Room(echo_db=0.0, delay_s=0.05)
    with open_desk(room, processor=lambda config: mine, echo="cancel") as desk:
        desk.run(500)
        say(desk, 1, noise(3.5))
        desk.run(500)
        desk.card.port.call(bytes(640), 160, desk.now, 4)  # too late for the loudspeaker
        count = len(desk.heard)
        say(desk, 2, noise(1.0))
        heard = np.concatenate(desk.heard[count:]).astype(float)
        assert np.abs(heard).max() < 150


def test_the_loss_counts_only_what_was_played() -> None:
    loss = EchoLoss()
    loud, soft, zero = np.full(FRAME, 1000, "i2"), np.full(FRAME, 100, "i2"), np.zeros(FRAME, "i2")
    assert loss.db == 0.0
    for _ in range(100):
        loss.add(zero, loud, loud)
    assert loss.db == 0.0
    for _ in range(49):
        loss.add(loud, loud, soft)
    assert loss.db == pytest.approx(20.0)
    assert not loss.has_learned
    loss.add(loud, loud, soft)
    assert loss.has_learned
    assert loss.is_sounding
    for _ in range(30):
        loss.add(zero, zero, zero)
    assert not loss.is_sounding


def test_a_room_with_nothing_to_take_out_is_known_after_a_while() -> None:
    loss = EchoLoss()
    loud, soft = np.full(FRAME, 1000, "i2"), np.full(FRAME, 10, "i2")
    for _ in range(299):
        loss.add(loud, soft, soft)
    assert not loss.has_learned
    loss.add(loud, soft, soft)
    assert loss.has_learned
