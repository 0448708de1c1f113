from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from ringbuf import Kind
from stages.event import Event
from stages.lane import Lane
from stages.messages import End, Status
from stages.tts.speaker import Speaker
from stages.tts.utterance import Sound

MakeLane = Callable[[str], Lane]


class Beeps:
    """150 samples an id, each sample the id."""

    rate = 5000  # 100 samples a block
    due: int | None = None

    def __init__(self) -> None:
        self.todo: list[Sound] = []
        self.ends: list[bool] = []

    @property
    def is_ready(self) -> bool:
        return bool(self.todo)

    def feed(self, id: int, position: int) -> None:
        if id == 666:
            raise RuntimeError("this id")
        if id != 0:
            self.todo.append(Sound(np.full(150, id, np.int16), position))

    def end(self, *, complete: bool) -> None:
        self.ends.append(complete)

    def more(self) -> Sound | None:
        return self.todo.pop(0) if self.todo else None


@dataclass(frozen=True)
class Block:
    """A voice block, copied."""

    first: int
    size: int
    turn: int
    answer: int
    position: int
    id: int


@dataclass
class Rig:
    """A speaker between a language model and an edge that the test plays."""

    turn: Lane
    llm: Lane
    edge: Lane
    speaker: Speaker
    utterances: list[Beeps]
    heard: list[Block] = field(default_factory=list)

    def reply(self, ids: list[int], answer: int, kind: Kind = Kind.END, first: int = 0) -> None:
        for position, id in enumerate(ids, first):
            assert self.llm.reply.put(id, position=position, turn=7, answer=answer)
        if kind is not Kind.ID:
            length = first + len(ids)
            assert self.llm.reply.put(0, position=length, turn=7, answer=answer, kind=kind)

    def run(self) -> None:
        """Step as the runner does, until the session only waits to be woken."""
        self.speaker.due = 0
        steps = 0
        while self.speaker.due is not None:
            steps += 1
            assert steps < 10_000
            try:
                self.speaker.step()
            except RuntimeError as error:
                self.speaker.fail(error)

    def listen(self) -> list[Block]:
        with self.edge.voice.read() as batch:
            self.heard += [
                Block(
                    block.first,
                    len(block.samples),
                    block.turn,
                    block.answer,
                    block.position,
                    int(block.samples[0]),
                )
                for block in batch
            ]
        return self.heard


@pytest.fixture
def rig(make_lane: MakeLane) -> Rig:
    utterances: list[Beeps] = []

    def begin() -> Beeps:
        utterances.append(Beeps())
        return utterances[-1]

    turn, tts = make_lane("turn"), make_lane("tts")
    turn.answer = 41
    rig = Rig(
        turn, make_lane("llm"), make_lane("audio"), Speaker(tts, begin, lambda: 5), utterances
    )
    turn.answer = 42
    return rig


def test_blocks_carry_where_they_belong(rig: Rig) -> None:
    rig.reply([3, 4], 42)
    rig.run()
    assert rig.listen() == [
        Block(0, 100, 7, 42, 0, 3),
        Block(100, 50, 7, 42, 1, 3),
        Block(150, 100, 7, 42, 1, 4),
        Block(250, 50, 7, 42, 2, 4),
    ]
    assert rig.edge.voice_end == End(42, 4, Status.OK)
    assert rig.utterances[-1].ends == [True]


def test_positions_advance_inside_a_long_stretch(rig: Rig) -> None:
    rig.reply([0, 0, 0, 0, 0, 5], 42)
    rig.run()
    assert [block.position for block in rig.listen()] == [4, 6]


def test_sound_comes_before_the_reply_is_complete(rig: Rig) -> None:
    rig.reply([3], 42, Kind.ID)
    rig.run()
    assert len(rig.listen()) == 2
    assert rig.edge.voice_end.answer != 42
    rig.reply([4], 42, Kind.END, first=1)
    rig.run()
    assert [block.first for block in rig.listen()] == [0, 100, 150, 250]
    assert rig.edge.voice_end == End(42, 4, Status.OK)


def test_waiting_for_words_and_making_their_sound_are_told_apart(make_lane: MakeLane) -> None:
    """The first was counted as the voice's time, so that a slow language model was not blamed."""
    turn, llm, tts = make_lane("turn"), make_lane("llm"), make_lane("tts")
    clock = [100]

    class Slow(Beeps):
        @property
        def is_ready(self) -> bool:
            return len(self.todo) >= 2

        def more(self) -> Sound | None:
            if len(self.todo) < 2:  # it looks one id ahead
                return None
            clock[0] += 30
            return super().more()

    speaker = Speaker(tts, Slow, lambda: clock[0])
    turn.answer = 1
    for position in range(3):
        assert llm.reply.put(7, position=position, turn=7, answer=1)
        llm.reply.stamp[position] = clock[0]  # not the test's own time
        clock[0] += 200
        speaker.step()
    told = {Event(record.event): record.at for record in tts._events.take()}
    assert told == {Event.FIRST_WORDS: 300, Event.FIRST_SOUND: 530}


@pytest.mark.parametrize("ids", [1, 5])
def test_words_that_wait_for_a_busy_voice_are_known_meanwhile(
    make_lane: MakeLane, ids: int
) -> None:
    """Another lane's stretch, or a core that is away, was counted as the language model's time."""
    turn, llm, tts = make_lane("turn"), make_lane("llm"), make_lane("tts")

    class Ahead(Beeps):
        """It looks one id ahead, or knows that none follows."""

        @property
        def is_ready(self) -> bool:
            return len(self.todo) >= (1 if self.ends else 2)

        def more(self) -> Sound | None:
            return super().more() if self.is_ready else None

    speaker = Speaker(tts, Ahead, lambda: 9000)
    turn.answer = 1
    for position in range(ids):
        assert llm.reply.put(7, position=position, turn=7, answer=1)
    assert llm.reply.put(0, position=ids, turn=7, answer=1, kind=Kind.END)
    llm.reply.stamp[: ids + 1] = 1005 + 5 * np.arange(ids + 1)  # not the test's own time
    assert speaker.listen()
    assert speaker.speak()
    told = {Event(record.event): record.at for record in tts._events.take()}
    assert told == {Event.FIRST_WORDS: 1010, Event.FIRST_SOUND: 9000}


def test_a_full_ring_holds_the_voice_back_and_loses_nothing(rig: Rig) -> None:
    ids = list(range(1, 301))  # 600 blocks for a ring of 512
    rig.reply(ids, 42)
    rig.run()
    assert rig.edge.voice.free() == 0
    assert rig.edge.voice_end.answer != 42
    assert len(rig.utterances[-1].todo) >= 40  # not synthesised into memory either
    rig.listen()
    rig.run()
    rig.listen()
    assert [block.id for block in rig.heard] == [id for id in ids for _ in range(2)]
    assert [block.position for block in rig.heard[1::2]] == ids
    assert rig.edge.voice_end == End(42, 600, Status.OK)


def test_a_newer_answer_drops_what_is_left_of_the_older(rig: Rig) -> None:
    """Fault 16."""
    rig.reply(list(range(1, 301)), 42)
    rig.run()  # the ring is full, and more waits
    rig.turn.answer = 43
    rig.reply([8], 42, first=300)  # the language model has not heard of it yet
    rig.reply([9], 43)
    rig.listen()
    rig.heard.clear()
    rig.run()
    assert [(block.answer, block.id, block.first) for block in rig.listen()] == [
        (43, 9, 0),
        (43, 9, 100),
    ]
    assert rig.edge.voice_end == End(43, 2, Status.OK)


def test_ids_may_be_ahead_of_the_control_word(rig: Rig) -> None:
    rig.reply([9], 43)
    rig.run()
    assert {block.answer for block in rig.listen()} == {43}


def test_an_answer_that_turns_stale_during_synthesis_is_not_put(rig: Rig) -> None:
    rig.reply([3], 42)
    rig.speaker.step()  # makes the utterance
    rig.listen()
    rig.heard.clear()
    utterance = rig.utterances[-1]
    rig.reply([4], 43)
    more = Beeps.more

    def slow(beeps: Beeps) -> Sound | None:
        rig.turn.answer = 44
        return more(beeps)

    utterance_type = type(utterance)
    utterance_type.more = slow
    try:
        rig.run()
    finally:
        utterance_type.more = more
    assert rig.listen() == []


def test_answer_numbers_wrap_around(make_lane: MakeLane) -> None:
    turn, tts, llm, edge = (make_lane(name) for name in ("turn", "tts", "llm", "audio"))
    turn.answer = 0xFFFF_FFFE
    rig = Rig(turn, llm, edge, Speaker(tts, Beeps, lambda: 5), [])
    rig.reply([1], 0xFFFF_FFFF)
    rig.run()
    turn.answer = 0
    rig.reply([2], 0xFFFF_FFFF, first=1)
    rig.reply([3], 0)
    rig.run()
    assert [(block.answer, block.id) for block in rig.listen()[::2]] == [(0xFFFF_FFFF, 1), (0, 3)]


def test_what_the_last_session_asked_for_is_not_spoken(rig: Rig) -> None:
    rig.reply([1], 41)
    rig.run()
    assert rig.listen() == []
    assert rig.edge.voice_end.answer != 41


@pytest.mark.parametrize("ids", [[], [0, 0]])
def test_an_answer_without_sound_ends_as_empty(rig: Rig, ids: list[int]) -> None:
    rig.reply(ids, 42)
    rig.run()
    assert rig.listen() == []
    assert rig.edge.voice_end == End(42, 0, Status.EMPTY)


def test_an_empty_reply_ends_as_empty(rig: Rig) -> None:
    """Fault 9."""
    rig.reply([], 42, Kind.EMPTY)
    rig.run()
    assert rig.edge.voice_end == End(42, 0, Status.EMPTY)
    assert rig.utterances[-1].ends == [False]


def test_a_failed_reply_is_spoken_as_far_as_it_is_whole(rig: Rig) -> None:
    rig.reply([3], 42, Kind.FAILED)
    rig.run()
    assert len(rig.listen()) == 2
    assert rig.edge.voice_end == End(42, 2, Status.FAILED)
    assert rig.utterances[-1].ends == [False]


def test_a_failing_voice_ends_the_answer_and_speaks_the_next(rig: Rig) -> None:
    rig.reply([3], 42, Kind.ID)
    rig.run()
    rig.reply([666, 4], 42, first=1)
    rig.run()
    assert rig.edge.voice_end == End(42, 2, Status.FAILED)
    rig.turn.answer = 43
    rig.reply([5], 43)
    rig.run()
    assert [block.id for block in rig.listen()[::2]] == [3, 5]
    assert rig.edge.voice_end == End(43, 2, Status.OK)


def test_ids_after_the_end_are_ignored(rig: Rig) -> None:
    rig.reply([3], 42)
    rig.reply([4], 42, first=1)
    rig.run()
    assert {block.id for block in rig.listen()} == {3}


def test_a_step_reads_a_bounded_number_of_ids(rig: Rig) -> None:
    rig.reply([0] * 400, 42, Kind.ID)
    rig.speaker.step()
    assert len(rig.llm.reply) == 144
    assert rig.speaker.due == 0


def test_closing_leaves_nothing_to_do(rig: Rig) -> None:
    rig.reply([3], 42)
    rig.speaker.close()
    assert rig.speaker.due is None


def test_an_answer_in_text_is_told_without_a_sound_up_to_each_id(rig: Rig) -> None:
    for position in range(3):
        assert rig.llm.reply.put(9, position=position, turn=7, answer=42, kind=Kind.TEXT)
    rig.run()
    with rig.edge.voice.read() as batch:
        told = [(len(block.samples), block.turn, block.answer, block.position) for block in batch]
    assert told == [(0, 7, 42, 3)]
    rig.reply([], 42, first=3)
    rig.run()
    assert rig.edge.voice_end == End(42, 1, Status.OK)
    assert rig.speaker.lane._events.take() == [], "nothing of it is sound"
