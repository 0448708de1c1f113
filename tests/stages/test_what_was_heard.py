"""The edge and the language model together: what was heard is never forgotten."""

import numpy as np
import pytest

from ringbuf import Kind
from stages.audio.loudspeaker import Loudspeaker
from stages.llm.scripted_engine import ASK, JOIN, NEXT
from stages.messages import End, Played, Status
from stages.topology import ASR, AUDIO, TTS, TURN
from tests.stages.llm.test_llm_session import MS, SYSTEM, Bench

REPLY = [101, 102, 103]


class Conversation(Bench):
    """A lane whose first answer was played, through the edge's own playback."""

    def __init__(self, make_lane):
        super().__init__(make_lane, [REPLY, [111]])
        self.clock = 2**62  # after every stamp of a block
        self.speaker = Loudspeaker(self.lanes[AUDIO], on_span=lambda span: None)
        self.play()
        self.start()
        self.say([50])
        self.mark(Kind.END, 1)
        self.run()
        for n in range(3):
            self.lanes[TTS].voice.put(
                np.ones(320, np.int16), first=320 * n, rate=16_000, answer=1, position=n + 1
            )
        self.lanes[TTS].voice_end = End(1, 3, Status.OK)
        self.lanes[TURN].released = 1

    def play(self, ms=0):
        """The edge steps, first at once and then some time later."""
        for wait in (0, ms):
            self.clock += wait * MS
            while self.speaker.step(self.clock):
                pass

    def ask(self, word):
        self.say([word])
        self.mark(Kind.END, 1)
        self.run()


@pytest.fixture
def talk(make_lane):
    return Conversation(make_lane)


def heard_all(talk):
    talk.play(ms=1000)
    talk.run()
    assert talk.lanes[AUDIO].played == Played(1, 3, True)


def test_a_pause_in_the_next_utterance_takes_nothing_away(talk):
    heard_all(talk)
    talk.start()
    talk.play(ms=300)
    talk.bump()  # RESUME, before any word of the utterance has come
    talk.play(ms=300)
    talk.ask(60)
    assert talk.talk.ids[: len(SYSTEM) + 7] == [*SYSTEM, 50, ASK, *REPLY, NEXT, 60]


def test_a_cough_between_two_questions_takes_nothing_away(talk):
    heard_all(talk)
    talk.start()
    talk.play(ms=300)
    talk.lanes[TURN].released = talk.answer  # no speech was in it
    talk.play(ms=300)
    talk.mark(Kind.EMPTY)
    talk.run()
    talk.start()
    talk.play(ms=300)
    talk.ask(60)
    assert talk.talk.ids[: len(SYSTEM) + 7] == [*SYSTEM, 50, ASK, *REPLY, NEXT, 60]


def test_what_was_heard_before_a_stop_stays(talk):
    talk.play(ms=45)  # two blocks of 20 ms and a part of the third
    talk.bump()  # CANCEL
    talk.play(ms=300)
    talk.start()
    talk.play(ms=300)
    talk.ask(60)
    assert talk.talk.ids[: len(SYSTEM) + 6] == [*SYSTEM, 50, ASK, *REPLY[:2], NEXT, 60]


def test_a_model_that_sleeps_through_it_all_still_learns_it(talk):
    talk.play(ms=1000)
    for _ in range(3):
        talk.start()
        talk.lanes[TURN].released = talk.answer
        talk.play(ms=300)
    talk.ask(60)
    assert talk.talk.ids[: len(SYSTEM) + 7] == [*SYSTEM, 50, ASK, *REPLY, NEXT, 60]


def test_an_answer_that_nobody_heard_is_forgotten_without_waiting(talk):
    talk.start()  # released, and not a sample of it was due
    talk.play(ms=300)
    talk.ask(60)
    assert talk.talk.ids[: len(SYSTEM) + 3] == [*SYSTEM, 50, JOIN, 60]
    assert len(talk.lanes[ASR].heard) == 0
