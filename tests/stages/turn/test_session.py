"""The microphone of one lane, step by step, on shared memory and a clock of our own."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from pipeline.config import TurnConfig
from pipeline.errors import AudioError
from ringbuf import Mark
from stages.lane import Lane
from stages.messages import Command, End, Played, Status, Words
from stages.topology import INPUT_RATE
from stages.turn.scripted import ScriptedDetector, ScriptedTurnOptions
from stages.turn.session import TurnSession

MakeLane = Callable[[str], Lane]
MS = 1_000_000
BLOCK = 320  # 20 ms: an edge may hand over less than a window
LOUD, QUIET = 8000, 0


@dataclass
class Bench:
    """A turn session with its neighbours' ends of the rings."""

    edge: Lane
    asr: Lane
    tts: Lane
    lane: Lane
    session: TurnSession
    now: int = 0
    fed: int = 0

    def hear(self, ms: int, level: int) -> None:
        for _ in range(ms // 20):
            block = np.full(BLOCK, level, np.int16)
            assert self.edge.mic.put(block, first=self.fed, rate=INPUT_RATE)
            self.fed += BLOCK
            self.now += 20 * MS
            self.session.step()

    def marks(self) -> list[Mark]:
        with self.asr.speech.read() as batch:
            return [block.mark for block in batch if block.mark]


@pytest.fixture
def bench(make_lane: MakeLane) -> Bench:
    lane = make_lane("turn")
    config = TurnConfig(soft_end_ms=96, release_ms=320, answer_timeout_s=2)
    made = Bench(make_lane("audio"), make_lane("asr"), make_lane("tts"), lane, None)  # type: ignore[arg-type]
    detector = ScriptedDetector(ScriptedTurnOptions())
    made.session = TurnSession(lane, detector, config, lambda: made.now)
    return made


def test_a_turn_from_first_sound_to_answered(bench: Bench) -> None:
    bench.hear(1000, QUIET)
    bench.hear(1000, LOUD)
    assert (bench.edge.turn, bench.edge.answer, bench.edge.released) == (1, 1, 0)
    bench.hear(400, QUIET)
    assert bench.marks() == [Mark.START, Mark.SOFT_END, Mark.RELEASE]
    assert bench.edge.released == 1
    bench.tts.voice_end = End(1, 10, Status.OK)
    bench.edge.played = Played(1, 5, final=True)
    bench.session.step()
    assert bench.session.turns.deadline is None


def test_speech_begins_with_its_pre_roll_and_has_no_hole(bench: Bench) -> None:
    """pipecat#3375: the first word was cut because the detector needs a moment."""
    bench.hear(1000, QUIET)
    bench.hear(640, LOUD)
    with bench.asr.speech.read() as batch:
        blocks = [(block.first, len(block.samples), block.turn, block.mark) for block in batch]
    assert blocks[0][3] is Mark.START
    assert all(turn == 1 for _, _, turn, _ in blocks)
    onset = 16_000
    assert onset - 0.5 * INPUT_RATE < blocks[0][0] < onset - 0.2 * INPUT_RATE
    for (first, count, _, _), (following, _, _, _) in pairwise(blocks):
        assert first + count == following


def test_pre_roll_never_overlaps_the_turn_before(bench: Bench) -> None:
    bench.hear(1000, LOUD)
    bench.hear(400, QUIET)
    with bench.asr.speech.read() as batch:
        end = max(block.first + len(block.samples) for block in batch)
    bench.hear(100, QUIET)
    bench.hear(200, LOUD)
    with bench.asr.speech.read() as batch:
        first = next(iter(batch))
        assert first.mark is Mark.START
        assert first.first >= end


def test_a_voice_that_stops_arriving_is_ended_by_the_wall_clock(bench: Bench) -> None:
    """pipecat#4124: a muted client left the turn open for ever."""
    bench.hear(1000, LOUD)
    assert bench.session.due is not None
    bench.now = bench.session.due
    bench.session.step()
    assert bench.marks() == [Mark.START, Mark.SOFT_END, Mark.RELEASE]


def test_an_answer_that_never_comes_times_out(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.hear(400, QUIET)
    bench.now += 3000 * MS
    bench.session.step()
    assert bench.edge.answer == 2
    assert bench.session.due is None or bench.session.due > bench.now


def test_no_words_end_the_turn(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.hear(200, QUIET)
    bench.asr.words.put(Words(1, 1, 0, Status.EMPTY).pack())
    bench.hear(200, QUIET)
    assert bench.session.turns.deadline is None


def test_commit_cancel_and_mute(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.edge.commands.put(Command.COMMIT.pack())
    bench.session.step()
    assert bench.marks() == [Mark.START, Mark.SOFT_END, Mark.RELEASE]
    bench.edge.commands.put(Command.CANCEL.pack())
    bench.session.step()
    assert bench.edge.answer == 2
    bench.edge.commands.put(Command.MUTE.pack())
    bench.hear(500, LOUD)
    assert bench.edge.turn == 1
    bench.edge.commands.put(Command.UNMUTE.pack())
    bench.hear(500, LOUD)
    assert bench.edge.turn == 2


def test_sound_at_another_rate_is_refused(bench: Bench) -> None:
    """pipecat#3844: 8 kHz was heard at double speed."""
    bench.edge.mic.put(np.zeros(160, np.int16), first=0, rate=8000)
    with pytest.raises(AudioError, match="8000 Hz, expected 16000 Hz"):
        bench.session.step()


def test_a_recogniser_that_lags_loses_no_sound(bench: Bench) -> None:
    """`speech` full: the microphone waits, and every sample arrives once there is room."""
    bench.hear(500, LOUD)
    ring = bench.lane.speech
    while ring.free():
        ring.put(np.empty(0, np.int16), first=0, rate=INPUT_RATE)
    bench.hear(100, LOUD)
    assert len(bench.lane.mic) == 5
    bench.asr.speech.skip()
    bench.session.step()
    assert len(bench.lane.mic) == 0


def test_failing_ends_the_turn_and_the_next_one_works(bench: Bench) -> None:
    bench.hear(500, LOUD)
    bench.session.fail(RuntimeError("bad block"))
    assert bench.marks() == [Mark.START, Mark.SOFT_END, Mark.RELEASE]
    bench.hear(400, QUIET)
    bench.hear(500, LOUD)
    assert bench.edge.turn == 2
