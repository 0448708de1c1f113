from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config import AsrConfig
from pipeline.errors import AudioError
from ringbuf import EventRecord, Kind, Mark
from stages.asr.backchannels import Backchannels
from stages.asr.bridge import ByteBridge
from stages.asr.recogniser import Decoding, Samples
from stages.asr.transcriber import Transcriber
from stages.asr.transcript import Transcript, split_words
from stages.event import Event
from stages.lane import Lane
from stages.messages import Caption, CaptionKind, Status, Words
from tests.lanes import open_lanes

WINDOW = 512
EAGER = {"first_ms": 200, "step_ms": 50}  # a block of 32 ms is nearly a step


@dataclass
class Ear:
    """A recogniser that says its lines, one a decode, and keeps what it was given.

    Attributes:
        log: what it was asked, "final" or "partial", and "given up".
        wait_ns: a decode takes so long, during which it is not to be resumed.
    """

    lines: list[str | Exception]
    now: Callable[[], int]
    streams: bool = False
    wait_ns: int = 0
    given: list[list[int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    _sound: list[int] = field(default_factory=list)

    def clear(self) -> None:
        self._sound.clear()

    def hear(self, samples: Samples) -> None:
        self._sound += samples[::WINDOW].tolist()

    def settle(self) -> None:
        self.log.append("settle")

    def decode(self, *, final: bool) -> Decoding:
        self.given.append(list(self._sound))
        self.log.append("final" if final else "partial")
        return self._decoding(self.now() + self.wait_ns)

    def _decoding(self, due: int) -> Decoding:
        try:
            yield due if self.wait_ns else 0
            yield 0
        except GeneratorExit:
            self.log.append("given up")
            raise
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return Transcript(split_words(line))


class Room:
    """A lane with `asr` on it, and its neighbours played by the test."""

    def __init__(
        self,
        make_lane: Callable[[str], Lane],
        *lines: str | Exception,
        delay_ms: int = 0,
        streams: bool = False,
        **config: object,
    ) -> None:
        self.turn, self.llm, self.control = map(make_lane, ("turn", "llm", "control"))
        self.now = 1_000
        self.ear = Ear(list(lines), lambda: self.now, streams, delay_ms * 1_000_000)
        self.asr = make_lane("asr")
        self.session = Transcriber(
            self.asr,
            self.ear,
            ByteBridge(),
            AsrConfig(**config),
            lambda: self.now,
            Backchannels(["uh-huh", "okay"]),
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
        self.turn.turn = turn
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
                if self.session.waiting_since is not None:
                    self.session.go_on()
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

    def events(self) -> list[EventRecord]:
        return self.asr._events.take()

    def words(self) -> list[Words]:
        return [Words.unpack(message) for message in self.turn.words.read()]

    def values(self) -> list[list[int]]:
        """What the recogniser was given, a value a block."""
        return self.ear.given


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
    assert room.ear.log == ["final", "settle", "final"]
    assert room.words() == [Words(1, 1, 2, Status.OK), Words(1, 2, 3, Status.OK)]


def test_a_pause_that_is_already_over_is_not_decoded(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "one two")
    room.say(1, mark=Mark.START)
    room.mark(Mark.SOFT_END)
    room.mark(Mark.RESUME, answer=2)
    room.say(2, answer=2)
    room.mark(Mark.SOFT_END, answer=2)
    room.step()
    assert room.values() == [[1], [1, 2]]
    assert room.ear.log[:1] == ["final"]  # and never begun
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
        assert caption.kind in (CaptionKind.HEARD, CaptionKind.HEARD_ALL)
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


def test_the_final_decode_begins_at_the_pause_and_is_adopted(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "Is it?")
    room.say(1, 2, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.step()
    assert room.ear.log == ["final"]
    assert room.heard() == []  # nobody knows yet whether that was the end
    room.say(0)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]
    assert room.values() == [[1, 2]]


def test_a_pause_that_was_none_is_decoded_again(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is", "Is it?")
    room.say(1, 2, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.step()
    room.say(3)
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.values() == [[1, 2], [1, 2, 3]]
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]


def test_the_final_decode_can_be_left_to_the_soft_end(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it?", decode_at_pause=False)
    room.say(1, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.step()
    assert room.ear.log == []
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]


def test_words_are_written_while_they_are_spoken(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it", "Is it safe", "Is it safe to", "Is it safe?", streams=True)
    room.say(*[1] * 6, mark=Mark.START)
    room.step()
    assert room.ear.log == []  # less than a second
    room.say(*[1] * 26)
    room.step()
    assert (room.ear.log, room.heard()) == (["partial"], [])  # nothing agrees with one decode
    room.say(*[1] * 7)
    room.step()
    assert room.ear.log == ["partial"]  # less than a step more
    room.say(1)
    room.step()
    assert room.heard() == [("Is it", 0, 1, 1)]
    room.say(*[1] * 8)
    room.step()
    assert room.heard() == [(" safe", 5, 1, 1)]
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("?", 10, 1, 1), ("END", 11, 1, 1)]


def test_a_change_of_punctuation_alone_keeps_what_was_written(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "so is it fine", "so is it fine", "So, is it fine?", streams=True)
    room.say(*[1] * 32, mark=Mark.START)
    room.step()
    room.say(*[1] * 8)
    room.step()
    assert room.heard() == [("so is it", 0, 1, 1)]
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [(" fine?", 8, 1, 1), ("END", 14, 1, 1)]


def test_a_decode_of_speech_that_goes_on_is_given_up_at_the_pause(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "Is it?", streams=True)
    room.say(*[1] * 32, mark=Mark.START)
    room.session.step()
    room.session.go_on()  # it has encoded, and would generate next
    assert room.session.waiting_since is not None
    room.mark(Mark.PAUSE)
    room.step()
    assert room.ear.log == ["partial", "given up", "final"]
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.heard() == [("Is it?", 0, 1, 1), ("END", 6, 1, 1)]


def test_partials_can_be_switched_off(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", streams=True, partials=False)
    room.say(*[1] * 100, mark=Mark.START)
    room.step()
    assert room.ear.log == []


def test_a_slow_machine_decodes_less_often(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, *["one two three"] * 9, streams=True, delay_ms=1000)
    room.say(*[1] * 32, mark=Mark.START)
    room.step()
    room.now += 1_000_000_000
    room.step()
    assert room.session.due is None
    room.say(*[1] * 62)  # a decode of one second is followed by one after two
    room.step()
    assert room.ear.log == ["partial", "partial"]  # the first step was not known to be slow
    room.now += 1_000_000_000
    room.step()
    room.say(*[1] * 62)
    room.step()
    assert len(room.ear.log) == 2
    room.say(1)
    room.step()
    assert len(room.ear.log) == 3


def test_the_timeline_says_when_words_came(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "Is it", "Is it safe", "Is it safe?", streams=True)
    room.say(*[1] * 32, mark=Mark.START)
    room.step()
    room.say(*[1] * 8)
    room.step()
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.step()
    records = [(Event(record.event).name, record.value) for record in room.events()]
    assert records == [("COMMIT", 5), ("DECODE_START", 1280), ("FINAL", 3)]


@given(
    lines=st.lists(st.text("ab ", max_size=9), min_size=60, max_size=60),
    acts=st.lists(st.sampled_from(["say", "pause", "soft", "resume", "step"]), max_size=50),
)
@settings(deadline=None, max_examples=60)
def test_whatever_happens_the_words_on_the_ring_are_the_last_transcript(
    lines: list[str], acts: list[str]
) -> None:
    """The reader's copy, revised by position, ends as the text of the decode that was adopted."""
    with open_lanes() as make_lane:
        check(Room(make_lane, *lines, streams=True, **EAGER), lines, acts)


def check(room: Room, lines: list[str], acts: list[str]) -> None:
    written: list[str] = []
    room.say(1, mark=Mark.START)
    soft = False
    for act in [*acts, "soft", "step"]:
        if act == "say" and not soft:
            room.say(*[1] * 4)
        elif act == "pause" and not soft:
            room.mark(Mark.PAUSE)
        elif act == "soft" and not soft:
            room.mark(Mark.PAUSE)
            room.mark(Mark.SOFT_END)
            soft = True
        elif act == "resume" and soft:
            room.mark(Mark.RESUME)
            soft = False
        elif act == "step":
            used = len(room.ear.lines)
            room.step()
            if len(room.ear.lines) < used:
                last = lines[len(lines) - len(room.ear.lines) - 1]
        for text, position, _, _ in room.heard():
            if text not in ("END", "EMPTY", "RESUME"):
                written = [*written[:position], *text]
            else:
                written = written[:position]
    assert "".join(written) == "".join(split_words(last)).strip()


def test_words_go_on_after_a_pause_that_was_none(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "one two", "one two three", "one two three four", streams=True)
    room.say(*[1] * 32, mark=Mark.START)
    room.step()
    room.mark(Mark.PAUSE)
    room.step()
    assert room.heard() == [("one two", 0, 1, 1)]  # the pause's decode is one like the others
    room.say(*[1] * 16)
    room.step()
    assert room.ear.log == ["partial", "final", "partial"]
    assert room.heard() == [(" three", 7, 1, 1)]


def test_nothing_is_decoded_in_the_silence_after_the_end(make_lane: Callable[[str], Lane]) -> None:
    room = Room(make_lane, "yes", "yes and", streams=True)
    room.say(*[1] * 20, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.mark(Mark.SOFT_END)
    room.say(*[0] * 40)
    room.step()
    assert room.ear.log == ["final"]
    room.mark(Mark.RESUME, answer=2)
    room.say(*[1] * 9, answer=2)
    room.step()
    assert room.ear.log == ["final", "settle", "partial"]


@pytest.mark.parametrize("agreement", [1, 2])
def test_a_decode_that_began_in_the_silence_ends_with_the_soft_end(
    make_lane: Callable[[str], Lane], agreement: int
) -> None:
    """It would write behind END, or fail a turn that was answered."""
    lines = ("one two", RuntimeError("too late"))
    room = Room(make_lane, *lines, streams=True, agreement=agreement, **EAGER)
    room.say(*[1] * 10, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.session.step()
    room.say(0, 0)
    room.session.step()
    room.session.go_on()
    assert room.ear.log == ["final", "partial"]
    room.mark(Mark.SOFT_END)
    room.step()
    assert room.ear.log == ["final", "partial", "given up"]
    assert [words.status for words in room.words()] == [Status.OK]
    assert room.heard()[-1] == ("END", 7, 1, 1)


def test_a_soft_end_that_comes_during_its_decode_is_answered_in_the_same_step(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "yes")
    room.say(1, mark=Mark.START)
    room.mark(Mark.PAUSE)
    decode = room.ear.decode

    def slow(*, final: bool) -> Decoding:
        room.mark(Mark.SOFT_END)
        return decode(final=final)

    room.ear.decode = slow
    room.session.step()
    assert room.heard() == [("yes", 0, 1, 1), ("END", 3, 1, 1)]


def test_a_soft_end_without_a_turn_is_answered_with_nothing(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, "yes")
    room.say(1, mark=Mark.START)
    room.mark(Mark.RELEASE)
    room.mark(Mark.SOFT_END)
    room.step()
    assert [words.status for words in room.words()] == [Status.EMPTY]
    assert room.session.due is None


def test_a_pause_in_a_turn_that_failed_is_no_reason_to_spin(
    make_lane: Callable[[str], Lane],
) -> None:
    room = Room(make_lane, RuntimeError("out of memory"))
    room.say(1, mark=Mark.START)
    room.mark(Mark.PAUSE)
    room.step()
    room.say(2)
    room.mark(Mark.PAUSE)
    room.step()  # fails the test if it goes on at once for ever
    assert room.session.due is None
    assert room.ear.log == ["final"]
