"""Captions to texts: any splits and revisions give the text of the ids that stand at the end."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.captions import KEPT, Captions
from pipeline.events import (
    ClipEnded,
    DeviceNotice,
    Fault,
    Idle,
    ReplyEnded,
    ReplyText,
    UserText,
)
from pipeline.tokenizer import ByteVocabulary
from stages.messages import Caption, CaptionKind
from stages.outcome import Outcome

HEARD, REPLY = CaptionKind.HEARD, CaptionKind.REPLY


def caption(
    kind: CaptionKind, position: int, ids: bytes, turn: int = 1, answer: int = 1
) -> Caption:
    """An id of the vocabulary of these tests is a byte of UTF-8."""
    payload = np.frombuffer(ids, np.uint8).astype("<i4").tobytes()
    return Caption(kind, turn, answer, position, payload)


def captions() -> Captions:
    return Captions(ByteVocabulary())


texts = st.text(st.characters(codec="utf-8", exclude_characters="\ufffd"), max_size=40)


@st.composite
def tellings(draw: st.DrawFn) -> tuple[str, list[tuple[int, bytes]]]:
    """A text, and (position, bytes) that tell it with wrong tails that are revised later."""
    text = draw(texts)
    final = text.encode()
    told, steps = 0, []
    pieces = st.tuples(st.integers(0, 7), st.binary(max_size=5))
    for right, wrong in draw(st.lists(pieces, max_size=12)):
        steps.append((told, final[told : told + right] + wrong))
        told = min(told + right, len(final))
    steps.append((told, final[told:]))
    steps.append((len(final), b""))  # the last word: nothing stands behind the end
    return text, steps


@given(tellings(), st.sampled_from([HEARD, REPLY]))
def test_any_splits_and_revisions_give_the_final_text(
    telling: tuple[str, list[tuple[int, bytes]]], kind: CaptionKind
) -> None:
    text, steps = telling
    mine = captions()
    events = mine.take((caption(kind, position, ids) for position, ids in steps), released=1)
    assert (mine.transcript(1) if kind is HEARD else mine.reply(1)) == text
    last = UserText(1, text) if kind is HEARD else ReplyText(1, 1, text)
    assert events[-1] == last
    assert len(events) == (len(steps) if kind is HEARD else 1)


def test_the_end_of_the_words_is_told_and_cuts_what_was_too_much() -> None:
    mine = captions()
    told = [
        caption(HEARD, 0, b"is it so"),
        caption(CaptionKind.HEARD_ALL, 5, b""),
        caption(HEARD, 5, b" safe"),
    ]
    assert list(mine.take(told, released=0)) == [
        UserText(1, "is it so"),
        UserText(1, "is it", final=True),
        UserText(1, "is it safe"),
    ]


@given(texts, texts, st.data())
def test_turns_and_answers_do_not_mix(one: str, two: str, data: st.DataObject) -> None:
    """Id by id, the two in any order."""
    queues = [
        [caption(HEARD, i, bytes([b]), turn=turn) for i, b in enumerate(text.encode())]
        + [caption(REPLY, i, bytes([b]), answer=turn) for i, b in enumerate(text.encode())]
        for turn, text in ((1, one), (2, two))
    ]
    mine = captions()
    while any(queues):
        queue = data.draw(st.sampled_from([queue for queue in queues if queue]))
        mine.take([queue.pop(0)], released=1)
    assert [mine.transcript(1), mine.transcript(2)] == [one, two]
    assert [mine.reply(1), mine.reply(2)] == [one, two]


def test_a_character_in_pieces_is_shown_when_it_is_whole() -> None:
    """huggingface/text-generation-inference#131: no replacement characters on the way."""
    mine = captions()
    shown = [
        event.text
        for position, byte in enumerate("né🔥".encode())
        for event in mine.take([caption(REPLY, position, bytes([byte]))], released=1)
        if isinstance(event, ReplyText)
    ]
    assert shown == ["n", "n", "né", "né", "né", "né", "né🔥"]


def test_an_answer_that_was_dropped_leaves_the_next_one_alone() -> None:
    mine = captions()
    mine.take(
        [caption(REPLY, 0, b"In vain", answer=1), caption(REPLY, 0, b"Yes", answer=2)], released=1
    )
    assert mine.reply(2) == "Yes"


def test_what_was_told_is_forgotten_and_what_comes_is_kept() -> None:
    mine = captions()
    mine.take([caption(HEARD, 0, b"one", turn=1), caption(HEARD, 0, b"two", turn=2)], released=1)
    mine.take([caption(REPLY, 0, b"a", answer=1), caption(REPLY, 0, b"b", answer=2)], released=1)
    mine.take([caption(REPLY, 0, b"c", answer=3)], released=1)
    mine.forget(turn=1, answer=2)
    assert (mine.transcript(1), mine.transcript(2)) == ("", "two")
    assert (mine.reply(1), mine.reply(2), mine.reply(3)) == ("a", "b", "c"), "a client may ask"
    for answer in range(4, 4 + KEPT):
        mine.take([caption(REPLY, 0, b"x", answer=answer)], released=answer)
        mine.forget(turn=1, answer=answer)
    assert (mine.reply(3), mine.reply(4)) == ("", "x")


def test_an_answer_is_cut_at_whole_words() -> None:
    mine = captions()
    mine.take([caption(REPLY, 0, "Hi you, café. 你好".encode())], released=1)
    whole = {n: mine.whole_words(1, n) for n in range(30)}
    assert whole[1] == (0, "")
    assert whole[2] == whole[3] == whole[4] == (2, "Hi")
    assert whole[6] == (6, "Hi you")
    assert whole[12] == (7, "Hi you,"), "in the middle of a character"
    assert whole[13] == (13, "Hi you, café")
    assert whole[18] == (18, "Hi you, café. 你")
    assert whole[29] == (21, "Hi you, café. 你好")
    assert mine.whole_words(7, 3) == (0, "")


def test_the_end_of_an_answer_is_told_with_it() -> None:
    mine = captions()
    end = Caption(CaptionKind.REPLY_ALL, 1, 2, 9, np.array([40, 38, 1], "<i4").tobytes())
    assert mine.take([caption(REPLY, 0, b"Yes", answer=2), end], released=1) == []
    told = mine.take([], released=2)
    assert told == [ReplyText(1, 2, "Yes"), ReplyEnded(1, 2, 9, 40, 38, limited=True)]
    assert mine.take([], released=2) == []


def test_the_other_kinds() -> None:
    told = captions().take(
        [
            Caption(CaptionKind.ERROR, turn=3, payload=b"llm: no"),
            Caption(CaptionKind.CLIP),
            Caption(CaptionKind.CLIP, payload=b"clip.wav is empty"),
            Caption(CaptionKind.OUTCOME, turn=3, position=Outcome.FAILED),
            Caption(CaptionKind.IDLE, turn=3),
        ],
        released=0,
    )
    assert told == [Fault(3, "llm: no"), ClipEnded(""), ClipEnded("clip.wav is empty"), Idle(3)]


def test_a_device_that_has_gone_and_is_back() -> None:
    gone = Caption(CaptionKind.DEVICE, position=0, payload=b"microphone is gone")
    back = Caption(CaptionKind.DEVICE, position=1, payload=b"microphone is back")
    told = captions().take([gone, back], released=0)
    assert told == [
        DeviceNotice("microphone is gone", is_open=False),
        DeviceNotice("microphone is back", is_open=True),
    ]


def test_nothing_is_told_of_an_answer_that_may_not_be_heard_yet() -> None:
    mine = captions()
    assert mine.take([caption(REPLY, 0, b"In ", answer=1)], released=0) == []
    assert mine.take([caption(REPLY, 3, b"vain", answer=1)], released=0) == []
    assert mine.take([caption(REPLY, 0, b"Yes", answer=2)], released=0) == []
    assert mine.take([], released=2) == [ReplyText(1, 2, "Yes")]
    assert mine.take([], released=2) == []


def test_what_was_heard_of_an_answer() -> None:
    mine = captions()
    mine.take([caption(REPLY, 0, b"Yes, it is.", answer=1)], released=1)
    assert [mine.reply(1, count) for count in (0, 3, 99)] == ["", "Yes", "Yes, it is."]


def test_what_is_voiced_is_told_once_all_of_it_is_known() -> None:
    told = captions()
    assert told.voiced(1, 2) is None
    told.take([caption(REPLY, 0, b"It")], released=1)
    assert told.voiced(1, 2) == "It"
    assert told.voiced(1, 3) is None
    told.take([caption(REPLY, 2, b" is")], released=1)
    assert told.voiced(1, 3) == "It "
    told.forget(turn=1, answer=1)
    assert told.voiced(1, 3) == "It ", "a client may still ask"
