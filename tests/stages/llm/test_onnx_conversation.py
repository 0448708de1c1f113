"""Whole conversations under ONNX Runtime, and what must not end one."""

import shutil
from itertools import pairwise

import numpy as np
import pytest

from ringbuf import Kind
from stages.llm.conversation import Conversation
from stages.llm.onnx_engine import load_engine
from stages.llm.part import Source
from stages.messages import CaptionKind
from tests.stages.llm.test_llm_session import Bench, plain_pieces

CONTEXT = 96
LIMIT = 8


@pytest.fixture(scope="module")
def load(tiny_onnx):
    return lambda: load_engine(tiny_onnx, context=CONTEXT)


def caught_up(talk):
    while talk.behind:
        talk.catch_up()


def answer(talk, turn, words, heard):
    """One turn: words one by one, a false end, a revision, and the answer."""
    talk.begin(turn, heard)
    for position, id in enumerate(words):
        talk.hear(np.array([id], np.int32), position)
        caught_up(talk)
    talk.ask(2 * turn)
    caught_up(talk)
    talk.step()
    talk.resume()
    talk.hear(np.array(words[1:], np.int32), 1, at_once=False)
    talk.ask(2 * turn + 1)
    caught_up(talk)
    while talk.answering:
        talk.step()
    return talk.reply


def fresh(load, talk, count):
    """What an engine says that is given a conversation in one piece."""
    engine = load()
    engine.open(0)
    engine.extend(0, np.array(talk.ids[: len(talk.ids) - count], np.int32), 0)
    return [engine.step([0])[0] for _ in range(count)]


def test_turns_that_were_cut_and_turns_that_left_are_gone_from_the_cache(load):
    talk = Conversation(load(), 0, plain_pieces([1, 2, 3]), LIMIT)
    heard, turns_kept = 0, []
    for turn in range(12):
        words = [(7 * turn + n) % 240 for n in range(3 + turn % 4)]
        reply = answer(talk, turn, words, heard)
        assert reply == fresh(load, talk, len(reply)), turn
        assert len(talk.ids) <= CONTEXT
        heard = (turn * 3) % (LIMIT + 1)  # nothing, some, all of it
        turns_kept.append(len(talk.ids))
    assert any(b < a for a, b in pairwise(turns_kept))  # some did leave


def test_what_was_put_in_taken_out_or_shortened_is_as_if_it_had_been_said_like_that(load):
    """The cache too: it says what one does that is given the conversation in one piece."""
    talk = Conversation(load(), 0, plain_pieces([1, 2, 3]), LIMIT)
    for turn, words in enumerate(([9, 8, 7], [6, 5], [4])):
        answer(talk, turn, words, LIMIT)
    talk.settle(LIMIT)
    for change in (
        lambda: talk.truncate((Source.REPLY, 3), 2),
        lambda: talk.insert((Source.TYPED, 1), [30, 31], (Source.WORDS, 0)),
        lambda: talk.remove((Source.WORDS, 1)),
        lambda: talk.instruct(plain_pieces([1, 5])),
        lambda: talk.insert((Source.WRITTEN, 2), [40]),
    ):
        change()
        talk.begin(100, 0)
        talk.ask(100)
        caught_up(talk)
        while talk.answering:
            talk.step()
        assert talk.reply == fresh(load, talk, len(talk.reply))
        talk.settle(0)


def test_a_conversation_goes_on_in_another_program(load):
    talk = Conversation(load(), 0, plain_pieces([1, 2, 3]), LIMIT)
    answer(talk, 1, [9, 8, 7], 0)
    again = Conversation(load(), 3, plain_pieces([1, 2, 3]), LIMIT)
    again.restore([talk.change(whole=True)])
    assert answer(again, 2, [5, 6], 4) == answer(talk, 2, [5, 6], 4)


def test_lanes_take_turns_and_do_not_hear_each_other(load):
    engine = load()
    talks = [Conversation(engine, lane, plain_pieces([1, 2, 3]), LIMIT) for lane in range(3)]
    for talk, words in zip(talks, ([10], [20], [10]), strict=True):
        talk.begin(1, 0)
        talk.hear(np.array(words, np.int32), 0)
        talk.ask(1)
        caught_up(talk)
    while any(talk.answering for talk in talks):
        for talk in talks:
            if talk.answering:
                talk.step()
    assert talks[0].reply == talks[2].reply != talks[1].reply


def test_each_lane_has_its_own_temperature(load):
    engine = load()
    talks = [Conversation(engine, lane, plain_pieces([1, 2, 3]), LIMIT) for lane in range(3)]

    def said(talk):
        talk.begin(1, 0)
        talk.hear(np.array([10], np.int32), 0)
        talk.ask(1)
        caught_up(talk)
        while talk.answering:
            talk.step()
        return list(talk.reply)

    talks[1].temper(2.0)
    best, hot, again = map(said, talks)
    assert best == again != hot
    fresh = Conversation(engine, 1, plain_pieces([1, 2, 3]), LIMIT)
    assert said(fresh) == best, "the next conversation begins with the configured one"


def spoken(bench, words):
    """How a turn with these words ends: the kinds on `reply`, and what the client is told."""
    bench.start()
    bench.say(words)
    bench.mark(Kind.END, len(words))
    bench.run()
    return [kind for kind, *_ in bench.replies()]


@pytest.mark.parametrize("words", [[7, 259], [7, -1], list(range(200))])
def test_words_that_no_model_takes_end_their_turn_alone(make_lane, load, words):
    """Ids out of the vocabulary, and an utterance longer than the context."""
    bench = Bench(make_lane, engine=load(), limit=LIMIT)
    assert spoken(bench, words) == [Kind.FAILED]
    assert spoken(bench, [7, 8]) == [Kind.ID, Kind.END]


def test_a_turn_without_words_is_empty(make_lane, load):
    bench = Bench(make_lane, engine=load(), limit=LIMIT)
    bench.start()
    bench.mark(Kind.END, 0)
    bench.run()
    assert [kind for kind, *_ in bench.replies()] == [Kind.EMPTY]


def test_scores_that_are_no_numbers_end_each_turn(make_lane, tiny_onnx, tmp_path):
    folder = tmp_path / "tiny" / "none"
    shutil.copytree(tiny_onnx, folder)
    data = folder / "model.onnx.data"
    data.write_bytes(b"\xff" * data.stat().st_size)
    bench = Bench(make_lane, engine=load_engine(folder, context=CONTEXT), limit=LIMIT)
    for _ in range(2):
        assert spoken(bench, [7, 8]) == [Kind.FAILED]
    assert not bench.captions(CaptionKind.REPLY)
