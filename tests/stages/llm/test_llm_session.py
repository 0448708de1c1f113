"""The session over real rings, a scripted engine and a clock of its own."""

from functools import partial

import numpy as np
import pytest

from pipeline.errors import StageError
from ringbuf import Kind
from stages.event import Event
from stages.llm.conversation import Conversation
from stages.llm.heard import PATIENCE_NS
from stages.llm.part import Source
from stages.llm.pieces import Pieces
from stages.llm.scripted_engine import ASK, JOIN, NEXT, ScriptedEngine, scripted_pieces
from stages.llm.session import LlmSession, Pace
from stages.llm.wishes import Insert, Remove, Style, Truncate, pack
from stages.messages import Caption, CaptionKind, End, Played, Status
from stages.topology import ASR, AUDIO, CONTROL, LLM, TTS, TURN

MS = 1_000_000
SYSTEM = [1, 2, 3]


def plain_pieces(opening):
    """The form of a conversation with a model that knows 259 ids."""
    return Pieces(tuple(opening), (250, 251), (252,), (253,), frozenset())


def typed(number, text, source=Source.TYPED, **place):
    return Insert(source=source, number=number, text=text, **place)


class Bench:
    """A lane as `llm` and its neighbours see it."""

    def __init__(
        self,
        make_lane,
        replies=(),
        *,
        fail_after=None,
        limit=20,
        pace=None,
        blank=(),
        engine=None,
        number=0,
        cut=(),
    ):
        self.lanes = {name: make_lane(name) for name in (TURN, ASR, TTS, AUDIO, CONTROL)}
        self.lane = make_lane(LLM)
        self.clock = 1_000 * MS
        self.engine = engine or ScriptedEngine(replies, 128, fail_after)
        self.pieces = plain_pieces if engine else partial(scripted_pieces, cut=cut)
        talk = Conversation(self.engine, number, self.pieces(SYSTEM), limit)
        self.pace, self.blank = pace, blank
        self.session = LlmSession(self.lane, talk, *self.session_arguments())
        self.talk = talk
        self.turn = 0
        self.answer = 0
        self.run()

    def session_arguments(self):
        """All but the lane and the conversation."""
        return (
            lambda text: self.pieces(list(text.encode())),
            lambda text: list(text.encode()),
            lambda ids: all(id in self.blank for id in ids),
            lambda: self.clock,
            self.pace,
        )

    def start(self):
        """The user begins to speak: `turn` numbers it and makes the last answer stale."""
        self.turn += 1
        self.bump()

    def bump(self):
        self.answer += 1
        self.lanes[TURN].turn, self.lanes[TURN].answer = self.turn, self.answer

    def say(self, words, position=0):
        self.lanes[ASR].heard.put_run(
            np.array(words, np.int32), position=position, turn=self.turn, answer=self.answer
        )

    def mark(self, kind, position=0, answer=None):
        answer = self.answer if answer is None else answer
        self.lanes[ASR].heard.put(0, position=position, turn=self.turn, answer=answer, kind=kind)

    def wish(self, wish):
        """The client asks for something."""
        assert self.lanes[AUDIO].settings.put(pack(wish))

    def over(self, heard):
        """The turn is over: so much of its answer was heard."""
        self.release(heard)
        self.lanes[TURN].ended = self.turn

    def release(self, heard=None, final=True):
        self.lanes[TURN].released = self.answer
        if heard is not None:
            self.lanes[AUDIO].played = Played(self.answer, heard, final)

    def step(self):
        try:
            self.session.step()
        except Exception as error:  # as the runner does
            self.session.fail(error)

    def run(self, limit=200):
        """Step while there is something to do at once; how often that was."""
        for count in range(1, limit):
            self.step()
            if self.session.due is None or self.session.due > self.clock:
                return count
        raise AssertionError("it never rests")

    def replies(self):
        """(kind, answer, position, ids) of every run on `reply`."""
        with self.lanes[TTS].reply.read() as batch:
            return [(r.kind, r.answer, r.position, r.ids.tolist()) for r in batch.runs()]

    def captions(self, kind):
        ring = self.lanes[CONTROL]._lane.command("captions_llm")
        found = [Caption.unpack(message) for message in ring.read()]
        return [caption for caption in found if caption.kind is kind]


@pytest.fixture
def bench(make_lane):
    return lambda replies=((201, 202, 203), (211,)), **options: Bench(make_lane, replies, **options)


def test_a_turn_is_answered_id_by_id(bench):
    b = bench()
    assert b.engine.content(0) == SYSTEM
    b.start()
    b.say([10, 11])
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, 11]  # at once, before the turn ends
    b.say([12], position=2)
    b.mark(Kind.END, 3)
    b.step()
    assert b.engine.content(0) == [*SYSTEM, 10, 11, 12, ASK]
    seen = []
    for _ in range(4):
        b.step()
        seen.append(b.replies())
    assert seen == [
        [(Kind.ID, 1, 0, [201])],
        [(Kind.ID, 1, 1, [202])],
        [(Kind.ID, 1, 2, [203])],
        [(Kind.END, 1, 3, [0])],
    ]
    assert b.session.due is None
    assert b.lane.reply_end == End(1, 3, Status.OK)


def test_its_events_and_captions(bench):
    b = bench()
    b.start()
    b.say([10, 11, 12])
    b.mark(Kind.END, 3)
    b.run()
    events = b.lane._events.take()
    assert [(e.event, e.turn, e.answer, e.value) for e in events] == [
        (Event.PREFILL, 1, 1, 3),
        (Event.FIRST_ID, 1, 1, 0),
        (Event.LAST_ID, 1, 1, 3),
    ]
    captions = b.captions(CaptionKind.REPLY)
    assert [(c.position, *np.frombuffer(c.payload, "<i4")) for c in captions] == [
        (0, 201),
        (1, 202),
        (2, 203),
    ]


def test_words_are_revised_by_position(bench):
    b = bench()
    b.start()
    b.say([10, 11, 12])
    b.run()
    b.say([21, 22, 23], position=1)
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, 21, 22, 23]


def test_the_end_says_how_many_ids_count(bench):
    b = bench()
    b.start()
    b.say([10, 11, 12])
    b.run()
    b.mark(Kind.END, 2)
    b.step()
    assert b.engine.content(0) == [*SYSTEM, 10, 11, ASK]


def test_an_end_behind_lost_words_is_a_failure(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 2)
    b.run()
    assert [run[:2] for run in b.replies()] == [(Kind.FAILED, 1)]


def go_on(b):
    """The user goes on after an answer has begun, which is given up."""
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.step()
    b.step()
    b.bump()
    b.mark(Kind.RESUME)


def test_the_user_goes_on(bench):
    b = bench()
    go_on(b)
    b.step()
    assert b.engine.content(0) == [*SYSTEM, 10]
    assert b.session.due is None
    b.say([11], position=1)
    b.mark(Kind.END, 2)
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, 11, ASK, 201, 202, 203]
    assert b.replies() == [
        (Kind.ID, 1, 0, [201]),
        (Kind.ID, 2, 0, [201, 202, 203]),
        (Kind.END, 2, 3, [0]),
    ]


def test_a_stale_answer_stops_within_one_step(bench):
    b = bench([range(201, 221)])
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    for _ in range(4):
        b.step()
    b.bump()
    b.run()
    assert b.replies() == [(Kind.ID, 1, 0, [201, 202, 203])]
    assert not b.talk.answering


def test_an_answer_that_was_heard_out_is_not_kept_as_one_that_was_cut(bench):
    """The one before it was, when the user went on; whatever came next took that for its own."""
    b = bench([range(201, 210), (211, 212)], cut=[99])
    go_on(b)
    b.say([11], position=1)
    b.mark(Kind.END, 2)
    b.run()
    heard = b.talk.reply
    b.over(heard=len(heard))
    b.wish(Style(instructions="A"))
    b.run()
    assert b.engine.content(0) == [65, 10, 11, ASK, *heard]


def test_a_stale_end_is_not_answered(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.bump()
    b.mark(Kind.RESUME)
    b.run()
    assert b.replies() == []


def test_the_cache_keeps_what_was_heard(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    b.release(heard=2)
    b.start()
    b.say([20])
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, ASK, 201, 202, NEXT, 20]
    b.mark(Kind.END, 1)
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, ASK, 201, 202, NEXT, 20, ASK, 211]


def test_what_was_heard_is_remembered_though_a_later_word_says_nothing_of_it(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    b.release(heard=2)
    b.run()
    b.lanes[AUDIO].played = Played(2, 0, True)
    b.start()
    b.bump()
    b.say([20])
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, ASK, 201, 202, NEXT, 20]


def test_an_answer_that_never_began_to_sound_is_not_waited_for(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    b.release()
    b.start()
    b.say([20])
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, JOIN, 20]


def test_an_answer_that_was_never_released_was_never_heard(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    b.start()
    b.say([20])
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, JOIN, 20]


def test_it_waits_until_it_is_known_what_was_heard(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    b.release(heard=1, final=False)
    b.start()
    b.say([20])
    b.run()
    assert b.engine.content(0)[-1] == 203  # nothing was decided
    assert b.session.due == b.clock + PATIENCE_NS
    b.clock += 30 * MS
    b.lanes[AUDIO].played = Played(1, 2, True)
    b.run()
    assert b.engine.content(0)[-3:] == [202, NEXT, 20]
    assert b.session.due is None


def test_it_waits_no_longer_than_its_patience(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    b.release(heard=1, final=False)
    b.start()
    b.say([20])
    b.run()
    b.clock += PATIENCE_NS
    b.run()
    assert b.engine.content(0)[-3:] == [201, NEXT, 20]


@pytest.mark.parametrize(("reply", "put"), [((), []), ((32, 10), [32, 10])])
def test_nothing_to_say_is_an_empty_reply(bench, reply, put):
    b = bench([reply], blank=(32, 10))
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    *ids, end = b.replies()
    assert [id for run in ids for id in run[3]] == put
    assert end[:3] == (Kind.EMPTY, 1, len(put))
    assert b.lane.reply_end == End(1, len(put), Status.EMPTY)
    b.start()
    b.say([20])
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, JOIN, 20]


def test_a_turn_without_words_gets_an_empty_reply(bench):
    b = bench()
    b.start()
    b.mark(Kind.END)
    b.run()
    assert [run[0] for run in b.replies()] == [Kind.EMPTY]
    b.bump()
    b.mark(Kind.RESUME)
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    assert b.replies()[-1] == (Kind.END, 2, 3, [0])


@pytest.mark.parametrize("kind", [Kind.EMPTY, Kind.FAILED])
def test_words_that_were_none_are_forgotten(bench, kind):
    b = bench()
    b.start()
    b.say([10])
    b.run()
    b.mark(kind)
    b.run()
    assert b.engine.content(0) == SYSTEM
    assert b.replies() == []


@pytest.mark.parametrize("count", [0, 2])
def test_a_failing_model_is_told_in_the_ring_and_the_next_turn_works(bench, count):
    b = bench(fail_after=count)
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    *ids, end = b.replies()
    assert sum(len(run[3]) for run in ids) == count
    assert end[:3] == (Kind.FAILED, 1, count)
    assert b.lane.reply_end == End(1, count, Status.FAILED)
    b.release(heard=count)
    b.engine._fail_after = None
    b.start()
    b.say([20])
    b.mark(Kind.END, 1)
    b.run()
    assert b.replies()[-1][:2] == (Kind.END, 2)
    # What was heard of the failed answer stays; a turn of which nothing was heard leaves whole.
    kept = [10, ASK, 201, 202, NEXT, 20, ASK, 211] if count else [20, ASK, 201, 202, 203]
    assert b.engine.content(0) == [*SYSTEM, *kept]


def test_words_that_break_the_model_fail_the_turn_once_it_ends(bench):
    b = bench()
    b.start()
    b.say(range(200))  # more than the context
    b.run()
    assert b.replies() == []
    b.say([5], position=200)
    b.mark(Kind.END, 201)
    b.run()
    assert [run[:2] for run in b.replies()] == [(Kind.FAILED, 1)]
    b.start()
    b.say([20])
    b.mark(Kind.END, 1)
    b.run()
    assert b.replies()[-1] == (Kind.END, 2, 3, [0])
    assert b.engine.content(0) == [*SYSTEM, 20, ASK, 201, 202, 203]


def test_a_failure_behind_which_more_lies_loses_nothing_of_it(bench):
    b = bench()
    b.start()
    with b.lanes[ASR].heard.together():
        b.say(range(200))
        b.mark(Kind.END, 200)
    b.run()
    assert [run[:2] for run in b.replies()] == [(Kind.FAILED, 1)]


def test_an_answer_is_cut_after_its_limit(bench):
    b = bench([range(201, 250)], limit=4)
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    assert b.replies() == [(Kind.ID, 1, 0, [201, 202, 203, 204]), (Kind.END, 1, 4, [0])]


def test_a_full_reply_ring_waits_for_the_voice(bench):
    room = 512
    b = bench([range(201, 204)])
    for n in range(room - 2):
        b.lane.reply.put(0, position=n, turn=0, answer=0)
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    assert b.session.due is None
    assert [run[3] for run in b.replies() if run[1] == 1] == [[201, 202]]
    b.run()
    assert b.replies() == [(Kind.ID, 1, 2, [203]), (Kind.END, 1, 3, [0])]


def test_instructions_of_the_client(bench):
    b = bench()
    b.wish(Style(instructions="AB"))
    b.run()
    assert b.engine.content(0) == [65, 66]
    b.start()
    b.say([10])
    b.wish(Style(instructions="AC"))
    b.run()
    assert b.engine.content(0) == [65, 67, 10]
    for message in (b"nonsense", b"[]", b"{}", b'{"kind": "style", "color": 1}'):
        b.lanes[AUDIO].settings.put(message)
    b.wish(Style(instructions="x" * 200))
    b.run()
    assert b.engine.content(0) == [65, 67, 10]
    errors = [caption.payload.decode() for caption in b.captions(CaptionKind.ERROR)]
    assert len(errors) == 5
    assert all("llm: settings cannot be read" in error for error in errors[:4])
    assert "takes 200 ids of a context of 128" in errors[4]


def test_instructions_wait_for_the_end_of_an_answer(bench):
    b = bench()
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.step()
    b.step()
    b.wish(Style(instructions="A"))
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, ASK, 201, 202, 203]
    b.over(heard=3)
    b.run()
    assert b.engine.content(0) == [65, 10, ASK, 201, 202, 203]


def test_what_was_typed_stands_where_it_was_put_and_is_answered(bench):
    b = bench()
    b.wish(typed(1, "A"))
    b.wish(typed(2, "B", source=Source.WRITTEN))
    b.wish(typed(3, "C"))
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 65, ASK, 66, NEXT, 67], "before anybody asks"
    b.start()
    b.mark(Kind.ASK)
    b.run()
    assert b.engine.content(0)[len(SYSTEM) :] == [65, ASK, 66, NEXT, 67, ASK, 211]
    assert b.replies()[-1] == (Kind.END, 1, 1, [0])
    b.over(heard=1)
    b.wish(Remove(source=Source.WRITTEN, number=2))
    b.wish(typed(4, "D", after=(Source.TYPED, 1)))
    b.run()
    assert b.engine.content(0)[len(SYSTEM) :] == [65, JOIN, 68, JOIN, 67, ASK, 211]


def test_what_is_typed_stands_behind_words_that_are_still_to_come(bench):
    """A client commits its sound, and types before the recogniser is done."""
    b = bench()
    b.start()
    b.wish(typed(1, "A", behind=1))
    b.run()
    assert b.engine.content(0) == SYSTEM
    b.say([10])
    b.mark(Kind.END, 1, answer=0)
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10]
    b.bump()
    b.lanes[TURN].ended = 1
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, JOIN, 65]


def test_an_utterance_that_brought_nothing_holds_nothing_up(bench):
    b = bench()
    b.start()
    b.wish(typed(1, "A", behind=1))
    b.lanes[TURN].ended = 1
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 65]


def test_a_heard_answer_is_cut_where_the_client_says(bench):
    b = bench(replies=((201, 202, 203), (211,)))
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    b.release(heard=3)
    b.start()
    b.say([20])
    b.run()
    b.wish(Truncate(source=Source.REPLY, number=1, count=1))
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 10, ASK, 201, NEXT, 20], "before it is answered"
    b.mark(Kind.END, 1)
    b.run()
    assert b.engine.content(0)[-2:] == [ASK, 211]


def test_an_engine_without_a_temperature_for_each_lane_says_so_and_answers(bench):
    b = bench()

    def refuse(lane, temperature):
        if temperature is not None:
            raise StageError("all conversations have one")

    b.engine.temper = refuse
    b.wish(Style(temperature=1.5))
    for _ in range(2):
        b.start()
        b.mark(Kind.ASK)
        b.run()
        assert b.replies()[-1][0] is Kind.END
    (error,) = b.captions(CaptionKind.ERROR)
    assert error.payload == b"llm: all conversations have one"


def test_the_style_of_a_cancelled_answer_does_not_take_that_of_the_next_with_it(bench):
    b = bench([range(201, 220)])
    b.wish(Style(most=5, once=True))
    b.wish(Style(most=2, once=True))
    b.start()
    b.mark(Kind.ASK, answer=b.answer)
    b.start()  # it is stale before it is read
    b.mark(Kind.ASK)
    b.run()
    (run,) = [run for run in b.replies() if run[0] is Kind.ID]
    assert len(run[3]) == 2


def test_a_program_that_begins_anew_is_under_its_own_instructions(make_lane):
    """The one before it died in an answer under others, and they stayed."""
    b = Bench(make_lane, [range(201, 220)])
    b.wish(typed(1, "A"))
    b.wish(Style(instructions="Z", once=True))
    b.start()
    b.mark(Kind.ASK)
    for _ in range(6):
        b.step()
    assert b.engine.content(0)[0] == ord("Z")
    b.lane._lane.set("ack_llm", b.lane.session)
    b.lane.skip_unread()
    engine = ScriptedEngine([range(201, 220)], 128)
    talk = Conversation(engine, 0, b.pieces(SYSTEM), 20)
    LlmSession(b.lane, talk, *b.session_arguments())
    assert talk.ids[: len(SYSTEM)] == SYSTEM
    assert 65 in talk.ids


def test_one_answer_in_a_style_of_its_own(bench):
    b = bench()
    b.wish(typed(1, "A"))
    b.wish(Style(instructions="Z", voice=False, most=2, once=True))
    b.start()
    b.mark(Kind.ASK)
    b.run()
    assert b.engine.content(0) == [90, 65, ASK, 201, 202]
    assert b.replies() == [
        (Kind.TEXT, 1, 0, [201]),
        (Kind.TEXT, 1, 1, [202]),
        (Kind.END, 1, 2, [0]),
    ]
    (told,) = b.captions(CaptionKind.REPLY_ALL)
    asked, known, limited = np.frombuffer(told.payload, "<i4").tolist()
    assert (told.position, asked, limited) == (2, 3, 1)
    assert known <= asked
    b.over(heard=2)
    b.run()
    assert b.engine.content(0) == [*SYSTEM, 65, ASK, 201, 202]
    b.start()
    b.say([20])
    b.mark(Kind.END, 1)
    b.run()
    assert b.replies() == [(Kind.ID, 2, 0, [211]), (Kind.END, 2, 1, [0])]


def test_an_earlier_conversation_on_the_lane_is_not_answered(make_lane):
    make_lane(TURN).turn = 7
    b = Bench(make_lane, [[201]])
    b.turn = 7
    b.say([66])
    b.mark(Kind.END, 1)
    b.run()
    assert b.engine.content(0) == SYSTEM
    assert b.replies() == []


def test_turn_numbers_wrap_around(make_lane):
    make_lane(TURN).turn = 0xFFFF_FFFF
    b = Bench(make_lane, [[201]])
    b.turn, b.answer = -1, -1
    b.start()
    assert (b.lane.turn, b.lane.answer) == (0, 0)
    b.say([10])
    b.mark(Kind.END, 1)
    b.run()
    assert b.replies()[-1][0] is Kind.END


def test_a_pace_is_kept(bench):
    b = bench(pace=Pace(first_ns=100 * MS, next_ns=10 * MS))
    b.start()
    b.say([10])
    b.mark(Kind.END, 1)
    times = []
    for _ in range(40):
        b.run()
        times += [b.clock - 1_000 * MS for run in b.replies() if run[0] is Kind.ID]
        if b.session.due is None:
            break
        b.clock = b.session.due
    assert times == [100 * MS, 110 * MS, 120 * MS]


def test_closing_forgets_the_conversation(bench):
    b = bench()
    b.session.close()
    assert b.engine._content == {}
