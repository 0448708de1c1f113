import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.speakable import say_word


@pytest.mark.parametrize(
    "word", ["", "🙂", "ʤ", " \n", "**", "```", "\x00", "👩\u200d👩\u200d👧", "|", "[]", "\u200b"]
)
def test_of_symbols_nothing_is_said(word: str) -> None:
    """Fault 15."""
    assert say_word(word) == ""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (" Hello", " Hello"),
        ("\n\nHello", " Hello"),
        (" **Bold**", " Bold"),
        (" *soft*,", " soft,"),
        ("`code`.", "code."),
        (" w**or**d", " word"),
        (" snake_case", " snake case"),
        (" well-known", " well-known"),
        ("Hi👍🏽!", "Hi !"),
        ("1\ufe0f\u20e3", "1"),
        ("[[ʤ]]raw", "raw"),
        (" café—naïve…", " café—naïve…"),
        ("e\u0301", "e\u0301"),
        ("真好。", "真好。"),
        ("a\x00b\u200bc", "a bc"),
        ("don't", "don't"),
    ],
)
def test_letters_are_kept_and_markup_is_not(word: str, said: str) -> None:
    assert say_word(word) == said


@given(st.text())
def test_nothing_unknown_is_left(word: str) -> None:
    assert not set(say_word(word)) & set("*_`#~[]{}|<>\\^\x00\n")
