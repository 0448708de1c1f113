"""A voice over an answer: it holds it, words end it, anything else lets it go on."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringbuf import Mark
from stages.event import Event
from stages.messages import End, Played, Status, Words
from stages.outcome import Outcome
from stages.turn.turns import (
    ANSWERING,
    CUT_NS,
    MOST_HOLDS,
    REST_NS,
    BargeIn,
    Ending,
    Manners,
    Phase,
    State,
    Turns,
)

PATIENCE = 20_000_000_000
HOLD = 1_500_000_000
WHOLE = End(1, 9, Status.OK)


def speaking(barge_in: BargeIn = BargeIn.WORDS, position: int = 4) -> Turns:
    """An answer of which so many ids were heard."""
    turns = Turns(0, 0, 0, Manners(PATIENCE, barge_in, HOLD))
    turns.start(0, 0)
    turns.mark(Mark.SOFT_END, 0)
    turns.mark(Mark.RELEASE, 0)
    turns.played(Played(1, position, final=False), WHOLE, 1)
    return turns


def over(turns: Turns, now: int = 10) -> Turns:
    turns.start(now - 5, now)
    return turns


def said(turns: Turns, count: int, *, final: bool = False, backchannel: bool = False) -> Words:
    status = Status.OK if count else Status.EMPTY
    return Words(*turns.utterance, count, status, final, backchannel)


def test_a_voice_holds_the_answer_and_is_no_turn_yet() -> None:
    turns = over(speaking())
    assert (turns.state, turns.hold) == (State.INTERRUPTED, True)
    assert (turns.turn, turns.answer, turns.released) == (1, 1, 1)
    assert turns.utterance == (2, 2)
    assert turns.endings == []


def test_words_end_the_answer_where_it_was_heard() -> None:
    turns = over(speaking())
    turns.words(said(turns, 1), 20)
    assert (turns.state, turns.hold) == (State.HEARING, False)
    assert (turns.turn, turns.answer) == (2, 2)
    assert turns.endings == []  # the edge has the last word on what was heard
    turns.played(Played(1, 5, final=True), WHOLE, 30)
    assert turns.endings == [Ending(1, 1, Outcome.INTERRUPTED, heard=5)]


def test_an_edge_that_says_nothing_does_not_keep_the_turn_open() -> None:
    turns = over(speaking())
    turns.words(said(turns, 1), 20)
    assert turns.deadline == 20 + CUT_NS
    turns.tick(20 + CUT_NS)
    assert turns.endings == [Ending(1, 1, Outcome.INTERRUPTED, heard=4)]
    assert turns.deadline is None


@pytest.mark.parametrize("words", [(0, False), (2, True)], ids=["cough", "uh-huh"])
def test_what_brings_no_words_lets_the_answer_go_on(words: tuple[int, bool]) -> None:
    turns = over(speaking())
    turns.mark(Mark.SOFT_END, 20)
    turns.words(said(turns, words[0], final=True, backchannel=words[1]), 30)
    assert (turns.state, turns.hold, turns.deadline) == (State.INTERRUPTED, True, 30 + REST_NS)
    turns.tick(30 + REST_NS)
    assert (turns.state, turns.hold) == (State.SPEAKING, False)
    turns.mark(Mark.RELEASE, 31 + REST_NS)
    assert turns.utterance == (turns.turn, turns.answer) == (1, 1)
    turns.played(Played(1, 9, final=True), WHOLE, 50)
    assert turns.endings == [Ending(1, 1, Outcome.ANSWERED, heard=9)]
    turns.start(60, 60)
    assert turns.turn == 2


def test_a_voice_that_an_echo_has_torn_holds_the_answer_all_the_time() -> None:
    """The answer went on for a tenth of a second between the two halves of a word."""
    turns = over(speaking())
    turns.mark(Mark.SOFT_END, 20)
    turns.words(said(turns, 0, final=True), 30)
    turns.mark(Mark.RESUME, 29 + REST_NS)
    turns.tick(31 + REST_NS)
    assert turns.hold
    turns.words(said(turns, 2), 40 + REST_NS)
    assert [notice.event for notice in turns.notices if notice.answer == 1] == [
        Event.SPEECH_START,
        Event.HOLD,
        Event.INTERRUPT,
    ]


def test_silence_that_is_long_enough_for_a_turn_lets_the_answer_go_on() -> None:
    turns = over(speaking())
    turns.mark(Mark.SOFT_END, 20)
    turns.words(said(turns, 0, final=True), 30)
    turns.mark(Mark.RELEASE, 40)
    assert (turns.state, turns.hold, turns.utterance) == (State.SPEAKING, False, (1, 1))


def test_stopping_the_answer_makes_no_turn_of_a_murmur_before() -> None:
    """The assistant answered "okay" to whoever had pressed stop."""
    turns = over(speaking())
    turns.mark(Mark.SOFT_END, 20)
    turns.words(said(turns, 1, final=True, backchannel=True), 30)
    turns.cancel(40)
    assert (turns.state, turns.turn, turns.hold) == (State.LISTENING, 1, False)
    assert turns.answer > 1
    turns.mark(Mark.RELEASE, 50)
    assert turns.is_free
    assert turns.released == 1


def test_what_goes_on_as_a_question_after_a_stop_is_a_turn() -> None:
    turns = over(speaking())
    turns.mark(Mark.SOFT_END, 20)
    turns.words(said(turns, 1, final=True, backchannel=True), 30)
    turns.cancel(40)
    voided = turns.answer
    turns.mark(Mark.RESUME, 50)
    turns.words(said(turns, 3), 60)
    assert (turns.state, turns.turn) == (State.HEARING, 2)
    assert turns.answer > voided


def test_a_program_that_has_begun_anew_tells_what_was_heard_of_the_answer() -> None:
    turns = Turns(3, 7, 7, Manners(PATIENCE))
    turns.abandon(Played(7, 12, final=False), 10)
    assert turns.endings == [Ending(3, 7, Outcome.FAILED, heard=12)]
    other = Turns(3, 7, 7, Manners(PATIENCE))
    other.abandon(Played(6, 12, final=True), 10)
    assert other.endings == [Ending(3, 7, Outcome.FAILED)]


def test_a_backchannel_may_go_on_as_a_question() -> None:
    """ "Okay. But what about Rome?"""
    turns = over(speaking())
    turns.mark(Mark.SOFT_END, 20)
    turns.words(said(turns, 1, final=True, backchannel=True), 30)
    turns.mark(Mark.RESUME, 40)
    assert turns.hold
    turns.words(said(turns, 3), 50)
    assert (turns.state, turns.turn) == (State.HEARING, 2)
    assert turns.answer == 3  # 2 was the answer to "Okay." alone
    turns.mark(Mark.SOFT_END, 60)
    turns.mark(Mark.RELEASE, 70)
    assert turns.released == 3


def test_words_known_only_after_the_release_are_answered_at_once() -> None:
    turns = over(speaking())
    turns.mark(Mark.SOFT_END, 20)
    turns.mark(Mark.RELEASE, 30)
    assert turns.state is State.INTERRUPTED
    turns.words(said(turns, 2, final=True), 40)
    assert (turns.state, turns.turn, turns.released) == (State.RELEASED, 2, 2)


def test_a_voice_without_an_end_and_without_words_holds_for_a_while_only() -> None:
    turns = over(speaking())
    assert turns.deadline == 10 + HOLD
    turns.words(said(turns, 0), 20)
    turns.tick(9 + HOLD)
    assert (turns.state, turns.hold) == (State.INTERRUPTED, True)
    turns.tick(10 + HOLD)
    assert (turns.state, turns.hold) == (State.SPEAKING, False)
    turns.words(said(turns, 2), 11 + HOLD)
    assert turns.state is State.HEARING


@pytest.mark.parametrize("partial", [(0, False), (3, True)], ids=["nothing", "as unsure as a hum"])
def test_an_answer_does_not_go_on_over_a_voice_whose_words_come_late(
    partial: tuple[int, bool],
) -> None:
    """A first guess that is no words, or a hum, is not the last."""
    turns = over(speaking())
    turns.words(said(turns, partial[0], backchannel=partial[1]), 20)
    turns.mark(Mark.SOFT_END, 30)
    turns.tick(9 + HOLD)
    assert turns.hold
    turns.words(said(turns, 5, final=True), 9 + HOLD)
    assert (turns.state, turns.turn) == (State.PREPARING, 2)


def test_noise_holds_an_answer_only_so_often() -> None:
    turns = speaking()
    for n in range(MOST_HOLDS + 1):
        over(turns)
        assert turns.hold == (n < MOST_HOLDS)
        turns.mark(Mark.SOFT_END, 20)
        turns.words(said(turns, 0, final=True), 20)
        turns.mark(Mark.RELEASE, 20)
    over(turns)
    turns.words(said(turns, 2), 20)
    assert turns.state is State.HEARING


def test_the_answer_that_was_held_before_its_first_sound_begins_afterwards() -> None:
    turns = Turns(0, 0, 0, Manners(PATIENCE, BargeIn.WORDS, HOLD))
    turns.start(0, 0)
    turns.mark(Mark.SOFT_END, 0)
    turns.mark(Mark.RELEASE, 0)
    over(turns)
    turns.mark(Mark.SOFT_END, 20)
    turns.words(said(turns, 0, final=True), 20)
    turns.mark(Mark.RELEASE, 20)
    assert turns.state is State.RELEASED
    over(turns, 30)
    turns.words(said(turns, 2), 40)
    assert turns.endings == [Ending(1, 1, Outcome.INTERRUPTED)]  # nothing to wait for


def test_any_voice_ends_an_answer_where_that_is_wished() -> None:
    turns = over(speaking(BargeIn.VOICE))
    assert (turns.state, turns.turn, turns.hold) == (State.HEARING, 2, False)


def test_nobody_is_heard_over_an_answer_that_is_not_to_be_interrupted() -> None:
    assert speaking(BargeIn.OFF).is_deaf
    turns = speaking()
    assert not turns.is_deaf
    turns.locked = True
    assert turns.is_deaf
    turns.played(Played(1, 9, final=True), WHOLE, 50)
    assert not turns.is_deaf


def test_cancelling_while_somebody_speaks_gives_them_the_floor() -> None:
    turns = over(speaking())
    turns.cancel(20)
    assert (turns.state, turns.turn, turns.answer) == (State.HEARING, 2, 2)


def test_the_timeline_knows_of_it() -> None:
    turns = over(speaking())
    turns.mark(Mark.SOFT_END, 20)
    turns.words(said(turns, 0, final=True), 20)
    turns.mark(Mark.RELEASE, 20)
    over(turns, 30)
    turns.words(said(turns, 2), 40)
    told = [(n.event, n.turn, n.answer, n.at) for n in turns.notices[1:]]
    assert told == [
        (Event.HOLD, 1, 1, 10),
        (Event.GO_ON, 1, 1, 20),
        (Event.HOLD, 1, 1, 30),
        (Event.INTERRUPT, 1, 1, 40),
        (Event.SPEECH_START, 2, 3, 25),
    ]


class Floor:
    """A conversation in which anything may happen at any time, as it does."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.now = 0
        barge_in = data.draw(st.sampled_from(BargeIn))
        self.turns = Turns(0, 0, 0, Manners(1000, barge_in, 300))
        self.voice = ""  # of the endpointer: "", "on", "pause"
        self.told = 0
        self.begun = 0

    def step(self) -> None:
        self.now += self.data.draw(st.integers(0, 700))
        before = self.turns.turn
        acts = [self.speak, self.words, self.played, self.cancel, self.fail, self.tick, self.lock]
        acts += [self.want, self.drop, self.change]
        self.data.draw(st.sampled_from(acts))()
        self.begun += self.turns.turn != before

    def speak(self) -> None:
        turns, now = self.turns, self.now
        if not self.voice:
            if not turns.is_deaf:
                self.voice = "on"
                turns.start(now, now)
        elif self.voice == "on":
            self.voice = "pause"
            turns.mark(Mark.SOFT_END, now)
        elif self.data.draw(st.booleans()):
            self.voice = "on"
            turns.mark(Mark.RESUME, now)
        else:
            self.voice = ""
            turns.mark(Mark.RELEASE, now)

    def words(self) -> None:
        turn, answer = self.turns.utterance
        answer = max(0, answer - self.data.draw(st.integers(0, 1)))
        count, status = self.data.draw(st.integers(0, 2)), self.data.draw(st.sampled_from(Status))
        flags = self.data.draw(st.booleans()), self.data.draw(st.booleans())
        self.turns.words(Words(turn, answer, count, status, *flags), self.now)

    def played(self) -> None:
        number = max(0, self.turns.answer - self.data.draw(st.integers(0, 2)))
        place, final = self.data.draw(st.integers(0, 9)), self.data.draw(st.booleans())
        status = self.data.draw(st.sampled_from(Status))
        self.turns.played(Played(number, place, final), End(number, 9, status), self.now)

    def cancel(self) -> None:
        self.turns.cancel(self.now)

    def fail(self) -> None:
        self.turns.fail(self.now)
        self.voice = ""

    def tick(self) -> None:
        self.turns.tick(self.now)

    def lock(self) -> None:
        self.turns.locked = not self.turns.locked

    def want(self) -> None:
        self.turns.want()
        if self.turns.wanted and self.turns.is_free:
            self.turns.speak(self.now)
            assert not self.turns.wanted

    def drop(self) -> None:
        self.turns.drop(self.now)
        self.voice = ""

    def change(self) -> None:
        answers = self.data.draw(st.booleans())
        self.turns.manners = replace(self.turns.manners, answers=answers)

    def check(self) -> None:
        turns = self.turns
        phases = [step.phase for step in turns.steps]
        for before, after in pairwise(turns.steps):  # one turn behind the other, in order
            assert (before.turn, before.phase.value) < (after.turn, after.phase.value)
        assert phases.count(Phase.RELEASED) >= sum(
            ending.outcome in (Outcome.ANSWERED, Outcome.EMPTY) for ending in turns.endings
        )
        is_open = turns.state is not State.LISTENING
        waiting = turns._cut is not None
        assert len(turns.endings) + is_open + waiting == self.begun
        assert [e.turn for e in turns.endings] == list(range(1, len(turns.endings) + 1))
        answers = [e.answer for e in turns.endings]
        assert answers == sorted(set(answers))
        assert turns.hold == (turns.state is State.INTERRUPTED)
        assert turns.released <= turns.answer
        if turns.state in ANSWERING:  # no state without a way out
            assert turns.deadline is not None
            assert turns.released == turns.answer
        if turns.state is State.NOTING:
            assert turns.deadline is not None
            assert turns.released != turns.answer
        if turns.state in (State.HEARING, State.PREPARING):  # these are the endpointer's to end
            assert self.voice

    def leave_alone(self) -> None:
        """Nobody says or does anything more: time alone leads back to listening."""
        if self.voice:
            self.turns.mark(Mark.RELEASE, self.now)
        for _ in range(8):
            if (deadline := self.turns.deadline) is None:
                break
            self.now = max(self.now, deadline)
            self.turns.tick(self.now)
        assert self.turns.state is State.LISTENING
        assert self.turns.deadline is None


@given(st.data())
def test_any_order_of_events_ends_each_turn_exactly_once(data: st.DataObject) -> None:
    floor = Floor(data)
    for _ in range(data.draw(st.integers(0, 40))):
        floor.step()
        floor.check()
    floor.leave_alone()
