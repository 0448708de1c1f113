import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.speakable import speakable


@pytest.mark.parametrize(
    "text", ["", "...", "🙂", "ʤ", " \n", "**", "?!", "---", "👩\u200d👩\u200d👧"]
)
def test_without_a_letter_or_digit_nothing_is_said(text: str) -> None:
    """Fault 15."""
    assert speakable(text) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" Hello there.", "Hello there."),
        ("**Bold** and *soft* and `code`.", "Bold and soft and code."),
        ("... and then?", "and then?"),
        (".5 of it", ".5 of it"),
        ("# Title", "Title"),
        ("### A # b", "A b"),
        ("- one", "one"),
        ("\n* two", "two"),
        ("\n  • three", "three"),
        ("> quoted", "quoted"),
        ("1. First", "1. First"),
        ("snake_case", "snake case"),
        ("3*4 = 12", "3 4 = 12"),
        ("well-known", "well-known"),
        ("Hi 🙂 there", "Hi there"),
        ("Hi👍🏽!", "Hi !"),
        ("1\ufe0f\u20e3 first", "1 first"),
        ("$3.50, 20% & 5€", "$3.50, 20% & 5€"),
        ("[[ʤ]] raw", "raw"),
        ("café — naïve…", "café — naïve…"),
        ("e\u0301", "e\u0301"),
        ("今天天气真好。", "今天天气真好。"),
        ("a\x00b\tc\u200bd", "a b cd"),
        ("don't “quote”", "don't “quote”"),
    ],
)
def test_words_are_kept_and_markup_is_not(text: str, said: str) -> None:
    assert speakable(text) == said


@given(st.text())
def test_nothing_unknown_is_left(text: str) -> None:
    said = speakable(text)
    assert said == said.strip()
    assert not set(said) & set("*_`#~[]{}|<>\\^\x00\n")
