"""The conversation against a plain list of what was said."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from pipeline.errors import StageError
from stages.llm.conversation import CHUNK, Conversation
from stages.llm.part import Source
from stages.llm.pieces import Pieces
from stages.llm.scripted_engine import ASK, JOIN, NEXT, STOP, ScriptedEngine, scripted_pieces

REPLIES = [[201, 202, 203], [211], [], [221, 222, 223, 224, 225, 226, 227, 228]]
LIMIT = 6
OPENING = [1, 2, 3]


def ids(values):
    return np.array(values, np.int32)


def conversation(context=4096, opening=OPENING, limit=LIMIT, replies=REPLIES):
    engine = ScriptedEngine(replies, context)
    return engine, Conversation(engine, 0, scripted_pieces(opening), limit)


def caught_up(engine, talk):
    while talk.behind:
        talk.catch_up()
    return engine.content(0)


def generate(talk):
    out = []
    while talk.answering:
        id = talk.step()
        if id is not None:
            out.append(id)
    return out


@dataclass
class Said:
    """What one user message holds: words of one turn or more, then a reply."""

    words: list = field(default_factory=list)
    joined: list = field(default_factory=list)  # of earlier turns whose answers were not heard
    reply: list | None = None

    def ids(self):
        return [*self.joined, *self.words, *([] if self.reply is None else [ASK, *self.reply])]


class AnyOrder(RuleBasedStateMachine):
    """Whatever happens in whatever order, the engine holds what was said."""

    @initialize()
    def start(self):
        self.engine, self.talk = conversation()
        self.messages = [Said()]
        self.turn = None
        self.answer = 0
        self.kept = []

    @property
    def last(self):
        return self.messages[-1]

    @rule(share=st.floats(0, 1))
    def begin(self, share):
        self.turn = 0 if self.turn is None else self.turn + 1
        last = self.last
        heard = round(share * len(last.reply or []))
        self.talk.begin(self.turn, heard)
        if heard:
            last.reply = last.reply[:heard]
            self.messages.append(Said())
        elif last.words:
            last.joined, last.words, last.reply = [*last.joined, *last.words, JOIN], [], None
        last.reply = last.reply if heard else None

    @precondition(lambda self: self.turn is not None)
    @rule(
        share=st.floats(0, 1),
        words=st.lists(st.integers(10, 99), min_size=1, max_size=2 * CHUNK),
        at_once=st.booleans(),
    )
    def hear(self, share, words, at_once):
        position = round(share * len(self.last.words))
        self.talk.hear(ids(words), position, at_once=at_once)
        self.last.words = [*self.last.words[:position], *words]
        self.last.reply = None

    @precondition(lambda self: self.turn is not None and self.last.words)
    @rule(count=st.integers(0, LIMIT + 2))
    def answer_with(self, count):
        self.answer += 1
        self.talk.ask(self.answer)
        caught_up(self.engine, self.talk)
        number = sum(
            1 for said in self.messages if said.reply is not None and said is not self.last
        )
        full = REPLIES[number % len(REPLIES)]
        self.last.reply = []
        for _ in range(count):
            if not self.talk.answering:
                break
            id = self.talk.step()
            if id is not None:
                self.last.reply.append(id)
        assert self.last.reply == full[: min(count, LIMIT)]
        assert self.talk.reply == self.last.reply

    @precondition(lambda self: self.turn is not None)
    @rule()
    def resume(self):
        self.talk.resume()
        self.last.reply = None

    @precondition(lambda self: self.turn is not None)
    @rule()
    def dismiss(self):
        self.talk.dismiss()
        self.last.words, self.last.reply = [], None

    @rule()
    def halt(self):
        self.talk.halt()
        assert not self.talk.answering

    @rule(whole=st.booleans())
    def keep(self, whole):
        self.kept.append(self.talk.change(whole=whole))

    @rule(whole=st.booleans())
    def restart(self, whole):
        """The program dies; another one restores what was kept into an empty engine."""
        self.keep(whole)
        self.engine, self.talk = conversation()
        self.talk.restore(self.kept)
        assert not self.talk.answering
        if not self.last.reply:
            self.last.words, self.last.reply = [], None

    @rule()
    def work(self):
        if self.talk.behind:
            self.talk.catch_up()

    @invariant()
    def holds_what_was_said(self):
        if not hasattr(self, "talk"):
            return
        wanted = list(OPENING)
        for number, said in enumerate(self.messages):
            wanted += [*([NEXT] if number else []), *said.ids()]
        assert self.talk.ids == wanted
        content = self.engine.content(0)
        assert content == wanted[: len(content)]
        assert self.talk.behind == (len(content) < len(wanted))
        assert self.talk.words == self.last.words


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(16, 80),
    st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1)), min_size=1, max_size=25),
)
def test_a_full_context_is_never_a_crash(context, turns):
    engine, talk = conversation(context)
    said = []
    for turn, (length, share) in enumerate(turns):
        talk.begin(turn, round(share * len(talk.reply)))
        words = list(range(1000 + turn * 100, 1000 + turn * 100 + length))
        try:
            talk.hear(ids(words), 0)
        except StageError:
            assert len(OPENING) + length + 2 > context
            talk.dismiss()
            continue
        talk.ask(turn)
        caught_up(engine, talk)
        reply = generate(talk)
        content = engine.content(0)
        assert content == talk.ids
        assert len(content) <= context
        assert content[: len(OPENING)] == OPENING
        assert content[len(content) - len(reply) - 1 - length :] == [*words, ASK, *reply]
        kept = [id for id in content if id >= 1000 and id < ASK]
        said += words
        assert kept == said[len(said) - len(kept) :]


def test_the_oldest_turns_leave_until_half_is_free():
    engine, talk = conversation(64, limit=3, replies=[[201, 202, 203]])
    for turn in range(20):
        before = len(talk.ids)
        talk.begin(turn, 3 if turn else 0)
        if len(talk.ids) < before:
            break
        talk.hear(ids([turn + 10] * 4), 0)
        talk.ask(turn)
        caught_up(engine, talk)
        generate(talk)
    assert 20 < len(talk.ids) <= 32
    content = caught_up(engine, talk)
    # opening, then whole turns: 4 words, ask, 3 ids of reply, next
    assert content[:3] == OPENING
    assert (len(content) - 3) % 9 == 0
    assert content[3:7] == [content[3]] * 4


@pytest.mark.parametrize("before", [0, 30])
def test_a_long_message_is_there_when_it_is_answered(before):
    """It was let in, and left again to make room for the answer."""
    engine, talk = conversation(128, limit=8, replies=[[201, 202, 203]])
    if before:
        talk.insert((Source.TYPED, 1), range(10, 10 + before))
        talk.begin(1, 0)
        talk.ask(1)
        caught_up(engine, talk)
        generate(talk)
        talk.settle(3)
    message = list(range(300, 385))
    talk.insert((Source.TYPED, 2), message)
    talk.begin(2, 0)
    talk.ask(2)
    assert [*message, ASK] == caught_up(engine, talk)[-len(message) - 1 :]
    generate(talk)
    assert len(talk.ids) <= 128


def test_the_longest_message_that_is_let_in_is_answered_with_an_id_at_least():
    engine, talk = conversation(64, limit=8, replies=[[201, 202, 203]])
    longest = range(300, 300 + 64 - len(OPENING) - 2)
    with pytest.raises(StageError, match="does not fit in a context of 64"):
        talk.insert((Source.TYPED, 1), range(300, longest.stop + 1))
    talk.insert((Source.TYPED, 1), longest)
    talk.begin(1, 0)
    talk.ask(1)
    assert caught_up(engine, talk) == [*OPENING, *longest, ASK]
    generate(talk)
    assert talk.reply == [201]


def test_a_limit_as_large_as_the_context_does_not_cost_what_was_said():
    engine, talk = conversation(128, limit=4096, replies=[[201, 202, 203]])
    for turn in range(4):
        talk.begin(turn, 3 if turn else 0)
        talk.hear(ids([turn + 10] * 4), 0)
        talk.ask(turn)
        caught_up(engine, talk)
        generate(talk)
    content = caught_up(engine, talk)
    assert [id for id in content if 10 <= id < 20] == [
        n for n in (10, 11, 12, 13) for _ in range(4)
    ]


def test_an_utterance_longer_than_the_context_fails_with_the_numbers():
    _, talk = conversation(32)
    talk.begin(0, 0)
    with pytest.raises(StageError, match="does not fit in a context of 32"):
        talk.hear(ids(range(10, 60)), 0)
    talk.dismiss()
    talk.begin(1, 0)
    talk.hear(ids([5]), 0)
    assert talk.words == [5]


def test_a_system_prompt_that_fills_the_context_is_refused():
    with pytest.raises(StageError, match=r"takes 40 ids of a context of 32.*llm\.system"):
        conversation(32, opening=range(40))


def test_words_behind_a_gap_are_refused():
    _, talk = conversation()
    talk.begin(0, 0)
    with pytest.raises(StageError, match="2 ids, of which 0 came"):
        talk.hear(ids([5]), 2)


def test_a_view_goes_to_the_engine_as_it_is():
    engine, talk = conversation()
    caught_up(engine, talk)
    talk.begin(0, 0)
    given_to = []
    engine.extend = lambda lane, ids, position: given_to.append((lane, ids, position))
    view = np.arange(50, 60, dtype=np.int32)[3:7]
    talk.hear(view, 0)
    assert given_to[0][1] is view


def test_words_that_wait_share_one_extend_with_the_prompt():
    engine, talk = conversation()
    caught_up(engine, talk)
    talk.begin(0, 0)
    calls = []
    extend = engine.extend
    engine.extend = lambda lane, ids, position: (
        calls.append(len(ids)),
        extend(lane, ids, position),
    )
    talk.hear(ids([5, 6]), 0, at_once=False)
    talk.ask(1)
    caught_up(engine, talk)
    assert calls == [3]


def test_the_system_prompt_is_computed_in_chunks():
    opening = list(range(3 * CHUNK + 5))
    engine, talk = conversation(opening=opening)
    talk.catch_up()
    assert engine.length(0) == CHUNK
    assert caught_up(engine, talk) == opening


def test_instructions_may_change_at_any_time():
    engine, talk = conversation()
    caught_up(engine, talk)
    talk.instruct(scripted_pieces([7, 8]))
    assert caught_up(engine, talk) == [7, 8]
    talk.begin(0, 0)
    talk.hear(ids([50, 51]), 0)
    talk.instruct(scripted_pieces([7, 9]))
    assert caught_up(engine, talk) == [7, 9, 50, 51]
    with pytest.raises(StageError, match="takes 5000 ids of a context of 4096"):
        talk.instruct(scripted_pieces(range(5000)))
    assert talk.ids == [7, 9, 50, 51]


def answered(talk, engine, turn, words, heard):
    talk.begin(turn, 0)
    talk.hear(ids(words), 0)
    talk.ask(turn)
    caught_up(engine, talk)
    generate(talk)
    talk.settle(heard)


def test_parts_are_put_in_taken_out_and_shortened():
    engine, talk = conversation(replies=[[201, 202, 203], [211]])
    answered(talk, engine, 1, [50], 3)
    answered(talk, engine, 2, [60], 1)
    first, second = [50, ASK, 201, 202, 203, NEXT], [60, ASK, 211]
    assert talk.ids == [*OPENING, *first, *second]
    talk.insert((Source.TYPED, 7), [70], after=(Source.WORDS, 1))
    assert talk.ids == [*OPENING, 50, JOIN, 70, ASK, 201, 202, 203, NEXT, *second]
    talk.insert((Source.WRITTEN, 8), [80])
    assert talk.ids[-4:] == [211, NEXT, ASK, 80]
    talk.truncate((Source.REPLY, 1), 2)
    assert talk.ids[:9] == [*OPENING, 50, JOIN, 70, ASK, 201, 202]
    talk.remove((Source.WORDS, 1))
    talk.truncate((Source.REPLY, 2), 0)
    assert talk.ids == [*OPENING, 70, ASK, 201, 202, NEXT, 60, ASK, 80]
    talk.insert((Source.WRITTEN, 9), [90], after=(Source.OPENING, 0))
    assert talk.ids[: len(OPENING) + 4] == [*OPENING, ASK, 90, NEXT, 70]
    assert caught_up(engine, talk) == talk.ids


def test_an_answer_without_new_words_is_to_what_was_said_before():
    engine, talk = conversation(replies=[[201], [202]])
    talk.begin(1, 0)
    talk.hear(ids([50]), 0)
    talk.begin(2, 0)
    talk.ask(2)
    assert talk.ids == [*OPENING, 50, ASK]
    caught_up(engine, talk)
    generate(talk)
    talk.begin(3, 1)
    talk.ask(3)
    assert talk.ids == [*OPENING, 50, ASK, 201, NEXT, ASK]
    caught_up(engine, talk)
    generate(talk)
    talk.settle(1)
    before = list(talk.ids)
    assert before == [*OPENING, 50, ASK, 201, NEXT, ASK, 202]
    talk.remove((Source.TYPED, 1))
    assert talk.ids == before, "written anew it is the same"


def test_a_part_that_cannot_fit_is_refused_and_leaves_everything():
    _, talk = conversation(context=32)
    talk.insert((Source.TYPED, 1), range(10, 30))
    before = list(talk.ids)
    with pytest.raises(StageError, match="does not fit in a context of 32"):
        talk.insert((Source.TYPED, 2), range(100, 130))
    assert talk.ids == before
    talk.insert((Source.TYPED, 3), range(40, 60))
    assert talk.ids == [*OPENING, *range(40, 60)]


@dataclass
class Edit:
    """One change to what was said."""

    kind: str
    key: tuple
    ids: list
    place: int
    count: int


KEYS = st.tuples(st.sampled_from([Source.TYPED, Source.WRITTEN, Source.REPLY]), st.integers(0, 5))
EDITS = st.builds(
    Edit,
    st.sampled_from(["insert", "remove", "truncate", "turn"]),
    KEYS,
    st.lists(st.integers(10, 99), min_size=1, max_size=5),
    st.integers(0, 6),
    st.integers(0, 4),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(EDITS, max_size=12), st.booleans())
def test_however_it_came_about_the_engine_holds_it_and_a_restart_finds_it(edits, speaking):
    """The same parts in the same order are the same ids, as if they had been said like that."""
    engine, talk = conversation()
    said, kept = [], []
    for number, edit in enumerate(edits):
        keys = [key for key, _ in said]
        if edit.kind == "insert" and edit.key not in keys:
            after = keys[edit.place] if edit.place < len(keys) else None
            place = edit.place + 1 if after else len(said)
            said.insert(place, (edit.key, edit.ids))
            talk.insert(edit.key, edit.ids, after)
        elif edit.kind == "remove":
            said = [part for part in said if part[0] != edit.key]
            talk.remove(edit.key)
        elif edit.kind == "truncate":
            shorter = [(k, i[: edit.count] if k == edit.key else i) for k, i in said]
            said = [part for part in shorter if part[1]]
            talk.truncate(edit.key, edit.count)
        elif edit.kind == "turn":
            talk.begin(100 + number, 0)
            talk.hear(ids(edit.ids), 0)
            talk.settle(0)
            said.append(((Source.WORDS, 100 + number), edit.ids))
        if speaking and talk.behind:
            talk.catch_up()
        kept.append(talk.change())
    _, fresh = conversation()
    for key, content in said:
        fresh.insert(key, content)
    assert talk.ids[: len(fresh.ids)] == fresh.ids
    assert len(talk.ids) - len(fresh.ids) <= 1, "at most the beginning of the next message"
    assert caught_up(engine, talk) == talk.ids
    if kept:
        fresh.restore(kept)
        assert (fresh.ids, fresh._parts) == (talk.ids, talk._parts)


def test_a_stop_id_is_no_part_of_the_conversation():
    engine, talk = conversation(replies=[[201]])
    talk.begin(0, 0)
    talk.hear(ids([5]), 0)
    talk.ask(1)
    caught_up(engine, talk)
    assert generate(talk) == [201]
    assert engine.content(0) == [*OPENING, 5, ASK, 201]
    assert STOP not in talk.ids


def test_pieces_are_values():
    assert scripted_pieces([1]) == Pieces((1,), (ASK,), (NEXT,), (JOIN,), frozenset({STOP}))


@pytest.mark.parametrize(
    ("heard", "cut", "kept"),
    [(0, True, []), (2, True, [ASK, 90, 91, 99, NEXT]), (3, False, [ASK, 90, 91, 92, NEXT])],
)
def test_a_greeting_stays_as_far_as_it_was_heard(heard, cut, kept):
    engine = ScriptedEngine(REPLIES, 4096)
    pieces = scripted_pieces(OPENING, cut=[99], greeting=[90, 91, 92])
    talk = Conversation(engine, 0, pieces, LIMIT)
    talk.begin(1, 0)
    assert talk.greet(1) == (90, 91, 92)
    caught_up(engine, talk)
    talk.begin(2, heard, cut=cut)
    talk.hear(ids([50]), 0)
    assert caught_up(engine, talk) == talk.ids == [*OPENING, *kept, 50]
