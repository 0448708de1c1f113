import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.asr.transcript import Transcript, bare, split_words, spoken


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        " ...",
        "[BLANK_AUDIO]",
        " (music)",
        " *laughs*",
        " ♪ ♪",
        "[Musik] (Lachen).",
        "\uff08音楽\uff09",
    ],
)
def test_what_nobody_said_is_dropped(text: str) -> None:
    assert spoken(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" Is it 5 o'clock?", " Is it 5 o'clock?"),
        (" Well [coughs] yes.", " Well  yes."),
        (" ♪ Happy birthday ♪", "  Happy birthday "),
        (" say <|im_end|> now", " say <|im_end|> now"),
        (" caf\ufffd", " caf"),
        ("今天天气真好。", "今天天气真好。"),
    ],
)
def test_what_was_said_stays(text: str, words: str) -> None:
    assert spoken(text) == words


def test_an_empty_transcript_knows_it() -> None:
    assert Transcript().empty
    assert not Transcript((" Yes.",)).empty
    assert Transcript((" Yes,", " sir.")).text == "Yes, sir."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  ", []),
        (" Is it  5 o'clock?", [" Is", " it", " 5", " o'clock?"]),
        ("one\ttwo\n", ["one", " two"]),
        ("今天天气。好吗", ["今", "天", "天", "气。", "好", "吗"]),
        ("say カタ now", ["say", " カ", "タ", " now"]),
        ("한국어 두 단어", ["한국어", " 두", " 단어"]),
    ],
)
def test_words_are_cut_where_people_cut_them(text: str, words: list[str]) -> None:
    assert list(split_words(text)) == words


@given(st.text())
def test_words_joined_are_the_text(text: str) -> None:
    words = split_words(text)
    assert "".join(words) == re.sub(r"\s+", " ", text).rstrip()
    assert all(word.strip() and " " not in word[1:] for word in words)


def test_a_bare_word_has_neither_case_nor_punctuation() -> None:
    assert [bare(word) for word in (" Don't!", " don't", "...", " É")] == ["dont", "dont", "", "é"]
