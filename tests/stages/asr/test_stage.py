"""Who may decode first: three lanes on one stage, with recognisers that only log."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from pipeline.config import load_config
from ringbuf import Kind, Mark
from stages.asr.backchannels import Backchannels
from stages.asr.bridge import ByteBridge
from stages.asr.recogniser import Decoding, Samples
from stages.asr.stage import AsrStage
from stages.asr.transcriber import Transcriber
from stages.asr.transcript import Transcript
from stages.lane import Lane
from stages.stage import Host
from tests.lanes import open_lanes

MakeLane = Callable[[str], Lane]


class Logging:
    """Writes each phase of its decodes to a log that all share."""

    streams = True

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def clear(self) -> None: ...

    def hear(self, samples: Samples) -> None: ...

    def settle(self) -> None: ...

    def decode(self, *, final: bool) -> Decoding:
        return self._decoding("final" if final else "partial")

    def _decoding(self, kind: str) -> Decoding:
        self.log.append(f"{self.name} encodes {kind}")
        yield 0
        self.log.append(f"{self.name} generates {kind}")
        if self.name == "broken":
            raise RuntimeError("out of memory")
        return Transcript((" word",))


@pytest.fixture
def rooms() -> Iterator[list[MakeLane]]:
    with ExitStack() as stack:
        yield [stack.enter_context(open_lanes()) for _ in range(3)]


class Round:
    """A stage and the lanes that it serves."""

    def __init__(self, rooms: list[MakeLane], names: list[str]) -> None:
        config = load_config()
        self.now = 0
        self.log: list[str] = []
        self.failed: list[str] = []
        self.stage = AsrStage(Host(config, config.asr, lambda: self.now, lambda text, done: None))
        self.speakers = [room("turn") for room in rooms]
        self.readers = [room("llm") for room in rooms]
        self.sessions = [
            Transcriber(
                room("asr"),
                Logging(name, self.log),
                ByteBridge(),
                config.asr,
                lambda: self.now,
                Backchannels(()),
            )
            for room, name in zip(rooms, names, strict=True)
        ]

    def say(self, lane: int, mark: Mark = Mark.NONE, blocks: int = 0) -> None:
        self.speakers[lane].turn = 1
        for index in range(max(blocks, 1)):
            self.speakers[lane].speech.put(
                np.zeros(512 if blocks else 0, np.int16),
                first=0,
                rate=16000,
                turn=1,
                answer=1,
                mark=Mark.NONE if index else mark,
            )

    def step(self) -> list[str]:
        """One round; what was done in it."""
        self.now += 1
        done = len(self.log)
        self.stage.step(self.sessions, lambda session, error: self.failed.append(str(error)))
        return self.log[done:]


def test_a_complete_utterance_goes_before_speech_that_goes_on(rooms: list[MakeLane]) -> None:
    turns = Round(rooms, ["a", "b", "c"])
    for lane in (0, 1):
        turns.say(lane, Mark.START, 40)
    assert turns.step() == ["a encodes partial"]
    turns.say(2, Mark.START, 2)
    turns.say(2, Mark.PAUSE)
    assert turns.step() == ["c encodes final", "c generates final", "a generates partial"]


def test_speakers_take_turns(rooms: list[MakeLane]) -> None:
    turns = Round(rooms, ["a", "b", "c"])
    for lane in range(3):
        turns.say(lane, Mark.START, 40)
        turns.step()
    for _ in range(4):
        turns.step()
    assert [line.split()[0] for line in turns.log] == ["a", "a", "b", "b", "c", "c"]
    for lane in range(3):
        turns.say(lane, blocks=40)
    for _ in range(6):
        turns.step()
    assert [line.split()[0] for line in turns.log[6:]] == ["a", "a", "b", "b", "c", "c"]


def test_a_pause_stops_the_speaker_s_own_decode_between_two_phases(rooms: list[MakeLane]) -> None:
    turns = Round(rooms, ["a", "b", "c"])
    turns.say(0, Mark.START, 40)
    turns.step()
    turns.say(0, Mark.PAUSE)
    assert turns.step() == ["a encodes final", "a generates final"]


def test_a_decode_that_raises_is_of_one_lane(rooms: list[MakeLane]) -> None:
    turns = Round(rooms, ["broken", "b", "c"])
    for lane in (0, 1):
        turns.say(lane, Mark.START, 40)
    for _ in range(6):
        turns.step()
    assert turns.failed == ["out of memory"]
    turns.say(1, Mark.PAUSE)
    turns.say(1, Mark.SOFT_END)
    turns.step()
    with turns.readers[1].heard.read() as batch:
        assert [run.kind for run in batch.runs()] == [Kind.ID, Kind.END]
