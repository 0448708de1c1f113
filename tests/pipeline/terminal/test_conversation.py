"""Any events in any order: what was said is shown once, and for good."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.events import (
    ClipEnded,
    DeviceNotice,
    Event,
    Fault,
    Idle,
    ReplyText,
    TurnEnded,
    UserText,
)
from pipeline.terminal.conversation import Conversation, Running
from pipeline.terminal.entry import Entry, Exchange, Note
from stages.outcome import Outcome
from tests.pipeline.terminal.events import ended

LAST = 0xFFFF_FFFF


def told(*events: Event) -> list[Entry]:
    conversation = Conversation()
    return [entry for event in events for entry in conversation.take(event)]


def test_a_turn_grows_and_is_then_shown_for_good() -> None:
    conversation = Conversation()
    assert conversation.take(UserText(1, "What")) == []
    assert conversation.take(UserText(1, "What time is it?", final=True)) == []
    assert conversation.live == [Running(1, "What time is it?", final=True)]
    assert conversation.take(ReplyText(1, 1, "It is time to")) == []
    assert conversation.live == [Running(1, "What time is it?", final=True)], (
        "nothing was heard yet"
    )
    conversation.heard("It is")
    assert conversation.live == [Running(1, "What time is it?", True, "It is")]
    (shown,) = conversation.take(ended(1, "What time is it?", "It is time to speak."))
    assert shown == Exchange(
        1,
        "What time is it?",
        "It is time to speak.",
        Outcome.ANSWERED,
        "304 ms",
        "silence 60 · words 169 · first id 210 · first words 240 · turn over 252 · sound 295",
    )
    assert conversation.live == []


def test_words_over_an_answer_stand_below_it() -> None:
    conversation = Conversation()
    conversation.take(UserText(1, "Tell me a story.", final=True))
    conversation.take(ReplyText(1, 1, "Once upon a time"))
    conversation.heard("Once upon")
    conversation.take(UserText(2, "Stop"))
    conversation.heard("Once upon a")
    assert [(live.user, live.answer) for live in conversation.live] == [
        ("Tell me a story.", "Once upon a"),
        ("Stop", ""),
    ]
    (shown,) = conversation.take(ended(1, "Tell me a story.", "Once upon a", Outcome.INTERRUPTED))
    assert isinstance(shown, Exchange)
    assert (shown.answer, shown.is_cut, shown.remark) == ("Once upon a", True, "interrupted")
    assert conversation.live == [Running(2, "Stop")]


def test_turns_stand_in_order_also_where_their_numbers_begin_again() -> None:
    conversation = Conversation()
    for turn in (0, LAST, 1):
        conversation.take(UserText(turn, f"turn {turn}"))
    assert [live.turn for live in conversation.live] == [LAST, 0, 1]


def test_what_was_told_too_late_is_not_shown_again() -> None:
    conversation = Conversation()
    conversation.take(ended(7, "One.", "Two."))
    conversation.take(UserText(7, "One.", final=True))
    conversation.take(UserText(6, "Zero."))
    assert conversation.live == []
    assert conversation.finish() == []


def test_a_noise_without_words_is_no_turn_to_show() -> None:
    assert told(ended(1, outcome=Outcome.NO_SPEECH, sounded=False)) == []


def test_a_greeting_has_no_user() -> None:
    (shown,) = told(ReplyText(1, 1, "Hello."), ended(1, "", "Hello."))
    assert isinstance(shown, Exchange)
    assert (shown.user, shown.answer, shown.remark) == ("", "Hello.", "")


def test_every_outcome_but_a_good_one_is_explained() -> None:
    for outcome in Outcome:
        (shown,) = told(ended(1, "Well?", "", outcome, sounded=False))
        assert isinstance(shown, Exchange)
        assert shown.remark
        assert not shown.is_cut
        assert shown.latency == ""


def test_what_happens_beside_the_talk_is_noted() -> None:
    assert told(
        Fault(1, "stage tts was killed;\nit is started again"),
        ClipEnded(""),
        ClipEnded("clip.wav is empty"),
        DeviceNotice("microphone is gone", is_open=False),
        DeviceNotice("microphone is back", is_open=True),
        Idle(3),
    ) == [
        Note("stage tts was killed; it is started again", is_trouble=True),
        Note("clip.wav is empty", is_trouble=True),
        Note("microphone is gone", is_trouble=True),
        Note("microphone is back"),
        Note("nobody has said anything for a while"),
    ]


def test_no_text_commands_the_terminal() -> None:
    evil = "\x1b[2Jhello\x07\r\nthere\x9b31m \ud800"
    conversation = Conversation()
    conversation.take(UserText(1, evil))
    conversation.take(ReplyText(1, 1, ""))
    conversation.heard(evil)
    clean = "[2Jhello there31m "
    assert conversation.live == [Running(1, clean, answer=clean)]
    (shown,) = conversation.take(ended(1, evil, evil))
    assert isinstance(shown, Exchange)
    assert shown.user == shown.answer == clean


def test_latency_says_what_it_rests_on() -> None:
    exchange = told(ended(1, "a", "b", source="vad"))[0]
    assert isinstance(exchange, Exchange)
    assert exchange.latency == "~304 ms"
    stumbled = told(ended(1, "a", "b", underruns=((1400_000_000, 5_000_000),)))[0]
    assert isinstance(stumbled, Exchange)
    assert stumbled.phases.endswith("sound 295 · does not count")


words = st.text(st.sampled_from("ab \x1b"), max_size=4)
turns = st.integers(LAST - 2, LAST + 3).map(lambda n: n & LAST)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(UserText, turns, words, st.booleans()),
    st.builds(ReplyText, turns, turns, words),
    st.builds(ended, turns, words, words, st.sampled_from(Outcome), sounded=st.booleans()),
    st.builds(Fault, turns, words),
    st.builds(ClipEnded, words),
    st.builds(DeviceNotice, words, st.booleans()),
    st.builds(Idle, turns),
)


@given(st.lists(st.one_of(events, words), max_size=40))
def test_in_any_order_nothing_that_was_said_is_lost_or_shown_twice(
    happened: list[Event | str],
) -> None:
    """A text stands for what was heard at that instant."""
    conversation = Conversation()
    over: set[int] = set()
    for event in happened:
        before = {live.turn: live for live in conversation.live}
        if isinstance(event, str):
            conversation.heard(event)
            shown = []
        else:
            shown = [e for e in conversation.take(event) if isinstance(e, Exchange)]
        for exchange in shown:
            if (was := before.get(exchange.turn)) is not None:
                assert exchange.user or not was.user
                assert exchange.answer or not was.answer
        told_now = [exchange.turn for exchange in shown]
        assert len(told_now) == len(set(told_now))
        now = {live.turn for live in conversation.live}
        silent = {turn for turn, live in before.items() if not (live.user or live.answer)}
        ending = {event.timeline.turn} if isinstance(event, TurnEnded) else set()
        assert set(before) - now <= set(told_now) | silent | ending
        assert not now & set(told_now)
        over |= ending
        assert not now & over, "what is over does not come back"
    left = [live for live in conversation.live if live.user or live.answer]
    rest = conversation.finish()
    assert [(e.turn, e.user, e.answer) for e in rest if isinstance(e, Exchange)] == [
        (live.turn, live.user, live.answer) for live in left
    ]
    assert conversation.live == conversation.finish() == []
