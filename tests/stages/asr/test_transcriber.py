from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.errors import AudioError
from ringbuf import Kind, Mark
from stages.asr.bridge import ByteBridge
from stages.asr.transcriber import LONGEST, Transcriber
from stages.lane import Lane
from stages.messages import Caption, CaptionKind, Status, Words

WINDOW = 512


@dataclass
class Ear:
    """A recogniser that says its lines and keeps what it was given."""

    lines: list[str | Exception]
    given: list[NDArray[np.int16]] = field(default_factory=list)

    def __call__(self, samples: NDArray[np.int16]) -> str:
        self.given.append(samples)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return line


class Room:
    """A lane with `asr` on it, and its neighbours played by the test."""

    def __init__(
        self, make_lane: Callable[[str], Lane], *lines: str | Exception, delay_ms: int = 0
    ) -> None:
        self.turn, self.llm, self.control = map(make_lane, ("turn", "llm", "control"))
        self.ear = Ear(list(lines))
        self.now = 1_000
        self.asr = make_lane("asr")
        self.session = Transcriber(
            self.asr, self.ear, ByteBridge(), lambda: self.now, delay_ms * 1_000_000
        )
        self.first = 0

    def say(
        self,
        *values: int,
        turn: int = 1,
        answer: int = 1,
        mark: Mark = Mark.NONE,
        rate: int = 16000,
    ) -> None:
        """Blocks of one value each; the first has the mark."""
        for index, value in enumerate(values):
            block = np.full(WINDOW, value, np.int16)
            place = {"first": self.first, "rate": rate, "turn": turn, "answer": answer}
            assert self.turn.speech.put(block, mark=Mark.NONE if index else mark, **place)
            self.first += WINDOW

    def mark(self, mark: Mark, turn: int = 1, answer: int = 1) -> None:
        nothing = np.empty(0, np.int16)
        self.turn.speech.put(
            nothing, first=self.first, rate=16000, turn=turn, answer=answer, mark=mark
        )

    def step(self) -> None:
        """As the runner does: again while the session asks for it at once."""
        self.session.due = 0
        for _ in range(20):
            if self.session.due is None or self.session.due > self.now:
                return
            try:
                self.session.step()
            except Exception as error:
                self.session.fail(error)
        pytest.fail("the session spins")

    def heard(self) -> list[tuple[str, int, int, int]]:
        """(text or kind, position, turn, answer) of all runs."""
        with self.llm.heard.read() as batch:
            return [
                (
                    bytes(run.ids.astype(np.uint8)).decode()
                    if run.kind is Kind.ID
                    else run.kind.name,
                    run.position,
                    run.turn,
                    run.answer,
                )
                for run in batch.runs()
            ]

    def words(self) -> list[Words]:
        return [Words.unpack(message) for message in self.turn.words.read()]

    def values(self) -> list[list[int]]:
        """What the recogniser was given, a value a block."""
        return [samples[::WINDOW].tolist() for samples in self.ear.given]


def test_a_turn_becomes_ids_and_an_end(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it?")
    room.say(1, 2, 3, mark=Mark.START)
    room.step()
    assert room.heard() == []
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]
    assert room.words() == [Words(1, 1, 2, Status.OK)]
    assert room.values() == [[1, 2, 3]]
    assert room.session.due is None


def test_going_on_keeps_the_words_and_revises_the_tail(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it?", "Is it safe?")
    room.say(1, 2, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.say(3)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.say(4, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.heard() == [
        ("Is it?", 0, 1, 1),
        ("END", 6, 1, 1),
        ("RESUME", 6, 1, 2),
        (" safe?", 5, 1, 2),
        ("END", 11, 1, 2),
    ]
    assert room.values() == [[1, 2], [1, 2, 3, 4]]
    assert room.words() == [Words(1, 1, 2, Status.OK), Words(1, 2, 3, Status.OK)]


def test_a_pause_that_is_already_over_is_not_decoded(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "one two")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RESUME, answer=2)
    room.say(2, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.values() == [[1, 2]]
    assert room.heard() == [("RESUME", 0, 1, 2), ("one two", 0, 1, 2), ("END", 7, 1, 2)]


def test_two_turns_in_one_batch_are_kept_apart(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "one", "two")
    for turn, value in ((1, 10), (2, 20)):
        room.say(value, value, turn=turn, answer=turn, mark=Mark.START)
        room.mark(Mark.SOFT_END, turn, turn)
        room.say(value + 1, turn=turn, answer=turn)
        room.mark(Mark.RELEASE, turn, turn)
    room.step()
    assert room.values() == [[10, 10], [20, 20]]
    assert room.heard() == [("one", 0, 1, 1), ("END", 3, 1, 1), ("two", 0, 2, 2), ("END", 3, 2, 2)]


def test_the_same_words_again_are_not_written_again(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", "yes")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.heard()[2:] == [("RESUME", 3, 1, 2), ("END", 3, 1, 2)]


def test_no_words_are_said_to_be_none(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("EMPTY", 0, 1, 1)]
    assert room.words() == [Words(1, 1, 0, Status.EMPTY)]


def test_words_that_turn_out_to_be_none_are_taken_back(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "you", "")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.heard()[-1] == ("EMPTY", 0, 1, 2)


def test_the_client_reads_along(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it?", "Is it safe?", "Is")
    room.say(1, mark=Mark.START)
    for answer in (1, 2, 3):
        room.mark(Mark.SOFT_END, answer=answer)
        room.step()
        room.mark(Mark.RESUME, answer=answer + 1)
    ring = room.control._lane.command("captions_asr")
    shown = ""
    for caption in map(Caption.unpack, ring.read()):
        assert caption.kind is CaptionKind.HEARD
        ids = np.frombuffer(caption.payload, "<i4")
        shown = shown[: caption.position] + "".join(map(chr, ids))
    assert shown == "Is"


def test_a_full_ring_makes_the_lane_wait(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "x" * 700, "next")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RELEASE)
    room.say(2, turn=2, answer=2, mark=Mark.START)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.session.due is None  # it does not spin: it is woken when there is room
    assert room.words() == []
    runs = room.heard()
    room.step()
    runs += room.heard()
    assert "".join(run[0] for run in runs if len(run[0]) > 5) == "x" * 700
    assert runs[-3:] == [("END", 700, 1, 1), ("next", 0, 2, 2), ("END", 4, 2, 2)]
    assert [words.turn for words in room.words()] == [1, 2]


def test_a_decode_that_raises_fails_the_turn_and_not_the_next(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, RuntimeError("out of memory"), "fine")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("FAILED", 0, 1, 1)]
    assert room.words() == [Words(1, 1, 0, Status.FAILED)]
    room.mark(Mark.RELEASE)
    room.say(2, turn=2, answer=2, mark=Mark.START)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.heard() == [("fine", 0, 2, 2), ("END", 4, 2, 2)]


def test_a_failed_turn_that_goes_on_fails_again(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, RuntimeError("out of memory"))
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.say(2, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert [words.status for words in room.words()] == [Status.FAILED, Status.FAILED]
    assert room.heard()[-1] == ("FAILED", 0, 1, 2)


def test_another_rate_is_never_guessed(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "fine")
    room.say(1, 2, rate=8000, mark=Mark.START)
    with pytest.raises(AudioError, match="speech brings 8000 Hz, expected 16000 Hz"):
        room.session.step()
    room.session.fail(AudioError("8000 Hz"))
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RELEASE)
    room.step()
    assert room.heard() == [("FAILED", 0, 1, 1), ("FAILED", 0, 1, 1)]
    room.say(3, turn=2, answer=2, mark=Mark.START)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.heard()[0] == ("fine", 0, 2, 2)


def test_a_turn_that_is_too_long_is_an_error(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane)
    room.say(1, mark=Mark.START)
    for _ in range(LONGEST // WINDOW // 1000):
        room.say(*[2] * 1000)
        room.session.step()
    room.say(*[3] * 1000)
    with pytest.raises(AudioError, match=r"turn 1 is longer than 65 s\. Lower turn\.max_turn_s"):
        room.session.step()


def test_a_turn_whose_start_is_missing_begins_with_its_number(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "one", "two")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.say(2, turn=2, answer=2)
    room.mark(Mark.SOFT_END, 2, 2)
    room.step()
    assert room.values() == [[1], [2]]
    assert room.heard()[2:] == [("two", 0, 2, 2), ("END", 3, 2, 2)]


def test_a_slow_script_answers_when_its_time_has_come(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", delay_ms=5)
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RELEASE)
    room.step()
    assert (room.heard(), room.session.due) == ([], 1_000 + 5_000_000)
    room.now += 5_000_000
    room.step()
    assert room.heard() == [("yes", 0, 1, 1), ("END", 3, 1, 1)]
    assert len(room.turn.speech) == 0


def test_a_slow_script_is_stopped_by_going_on(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", delay_ms=5)
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.step()
    room.mark(Mark.RESUME, answer=2)
    room.now += 9_000_000
    room.step()
    assert room.heard() == [("RESUME", 0, 1, 2)]


@pytest.mark.parametrize("cuts", [[], [1], [3], [1, 2, 3, 4, 5, 6, 7]])
def test_when_blocks_arrive_does_not_matter(
    make_lane: Callable[[str], Lane], cuts: Sequence[int]
) -> None:
    room = Room(make_lane, "first", "second")
    actions = [
        lambda: room.say(1, 2, mark=Mark.START),
        lambda: room.mark(Mark.SOFT_END),
        lambda: room.say(3),
        lambda: room.mark(Mark.RELEASE),
        lambda: room.say(4, turn=2, answer=2, mark=Mark.START),
        lambda: room.mark(Mark.SOFT_END, 2, 2),
        lambda: room.mark(Mark.RELEASE, 2, 2),
    ]
    for index, act in enumerate(actions):
        if index in cuts:
            room.step()
        act()
    room.step()
    assert room.values() == [[1, 2], [4]]
    assert [run[0] for run in room.heard()] == ["first", "END", "second", "END"]
