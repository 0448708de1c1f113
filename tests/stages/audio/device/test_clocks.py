"""Times of frames, and what is done about a crystal that is wrong."""

import numpy as np
import pytest

from stages.audio.device.arrivals import Arrivals
from stages.audio.device.clock import StreamClock
from stages.audio.device.drift import LIMIT, SETTLED_BLOCKS, Drift, Quiet, dbfs
from stages.audio.device.playhead import Playhead
from stages.audio.device.stamp import Stamp
from stages.messages import Levels
from stages.topology import INPUT_BLOCK

MS = 1_000_000
RATE = 48_000


def test_a_clock_is_steadier_than_its_stamps() -> None:
    clock, chance = StreamClock(RATE), np.random.default_rng(1)
    period = 1e9 / RATE * (1 + 100e-6)
    for frame in range(0, 60 * RATE, 480):
        clock.stamp(frame, round(frame * period + chance.normal(0, 2 * MS)))
    errors = [clock.time(frame) - frame * period for frame in range(59 * RATE, 60 * RATE, 4800)]
    assert np.abs(errors).max() < 0.7 * MS
    assert clock.frame(clock.time(59 * RATE)) == 59 * RATE


def test_one_stamp_that_is_far_off_does_not_count() -> None:
    clock = StreamClock(RATE)
    for frame in range(0, 4800, 480):
        clock.stamp(frame, frame * 1_000_000_000 // RATE + (300 * MS if frame == 960 else 0))
    assert clock.time(4800) == pytest.approx(100 * MS, abs=1000)
    assert clock.jumps == 0


def test_calls_in_bursts_are_no_jumps() -> None:
    clock = StreamClock(RATE)
    for burst in range(100):
        for call in range(5):
            clock.stamp((5 * burst + call) * 480, burst * 50 * MS + call * MS // 10)
    assert clock.jumps == 0
    middle = [clock.time(frame) - frame * 1e9 / RATE for frame in range(200_000, 240_000, 480)]
    assert max(middle) - min(middle) < 8 * MS


def test_sound_that_was_lost_moves_the_clock() -> None:
    clock = StreamClock(RATE)
    for frame in range(0, 48_000, 480):
        late = 200 * MS if frame >= 24_000 else 0
        clock.stamp(frame, frame * 1_000_000_000 // RATE + late)
    assert clock.jumps == 1
    assert clock.time(48_000) == pytest.approx(1200 * MS, abs=1000)


def stamp(at: int, output: int, played: int, frames: int = 480) -> Stamp:
    return Stamp(at, 0, at, 0, output, frames, 0, played)


def test_a_voice_is_counted_apart_from_the_silence_around_it() -> None:
    head = Playhead(RATE)
    voices = [(0, 0), (0, 480), (480, 480), (960, 240), (1200, 0), (1200, 480)]
    for call, (output, played) in enumerate(voices):
        head.take(stamp(call * 10 * MS, output, played))
    assert head.time(0) == 10 * MS
    assert head.time(960) == 30 * MS
    assert head.time(1199) == pytest.approx(35 * MS, abs=MS // 10)
    assert head.time(1200) == 50 * MS  # behind a gap of 15 ms
    assert head.time(1680) == 60 * MS  # not yet with the device
    assert head.silence(0, 1200) == head.silence(1199, 1200) == 15 * MS
    assert head.silence(1200, 9999) == head.silence(0, 1199) == 0
    assert [head.heard(ms * MS) for ms in (5, 15, 34, 45, 55, 99)] == [
        0,
        240,
        1152,
        1200,
        1440,
        1680,
    ]


def test_what_was_flushed_does_not_wait_to_be_heard() -> None:
    head = Playhead(RATE)
    head.take(stamp(0, 0, 480))
    head.take(stamp(10 * MS, 9600, 0))  # 480 to 9600 were thrown away
    assert head.heard(5 * MS) == 240
    assert head.heard(11 * MS) == 9600


def test_the_next_block_is_awaited_at_the_pace_of_the_device() -> None:
    even, bursts = Arrivals(RATE), Arrivals(RATE)
    for call in range(20):
        even.stamp(stamp(call * 10 * MS + 20 * MS, 0, 0))
        bursts.stamp(stamp((call // 5) * 50 * MS + call % 5 * MS, 0, 0))
    last = 190 * MS + 20 * MS
    assert even.expected(100) == last + 11 * MS
    assert even.expected(480) == last + 11 * MS
    assert even.expected(1440) == last + 31 * MS
    assert bursts.expected(100) == 154 * MS + 47 * MS
    bursts.stamp(stamp(2000 * MS, 0, 0))
    assert bursts.expected(100) == 2061 * MS


def test_drift_is_corrected_only_where_it_is_quiet() -> None:
    drift = Drift()
    for block in range(SETTLED_BLOCKS):
        assert drift.missing(block * 512, block * 32 * MS, is_quiet=True) == 0
    sample = SETTLED_BLOCKS * INPUT_BLOCK
    at = SETTLED_BLOCKS * 32 * MS
    assert drift.missing(sample, at + 19 * MS, is_quiet=True) == 0
    assert drift.missing(sample, at + 30 * MS, is_quiet=False) == 0
    assert drift.missing(sample, at + 30 * MS, is_quiet=True) == pytest.approx(480, abs=1)
    assert drift.missing(sample, at - 30 * MS, is_quiet=True) == pytest.approx(-480, abs=1)
    assert drift.corrections == 2
    assert LIMIT == 320


def test_speech_is_not_quiet_and_a_louder_room_becomes_so() -> None:
    quiet = Quiet()
    for _ in range(20):
        is_quiet = quiet.feed(-65.0)
    assert is_quiet
    assert not quiet.feed(-30.0)
    assert not any(quiet.feed(level) for level in (-65.0, -64.0, -65.0))  # between two words
    assert [quiet.feed(-50.0) for _ in range(3000)][-1]


def test_levels() -> None:
    assert dbfs(np.full(512, -32768, np.int16)) == pytest.approx(0.0)
    assert dbfs(np.full(512, 3277, np.int16)) == pytest.approx(-20.0, abs=0.01)
    assert dbfs(np.zeros(512, np.int16)) == Levels.SILENT
    assert dbfs(np.zeros(0, np.int16)) == Levels.SILENT
