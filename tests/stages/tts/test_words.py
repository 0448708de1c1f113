# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.boundaries import Ending, ends_phrase
from stages.tts.words import LONGEST_SENTENCE, LONGEST_WORD, Stop, Word, WordSplitter


def parts(text: str, sizes: list[int] | None = None) -> list[Word | Stop]:
    """Feed text in pieces of the given sizes (one character each), then flush."""
    splitter, found, at = WordSplitter(), list[Word | Stop](), 0
    for position, size in enumerate(sizes or [1] * len(text)):
        found += splitter.feed(text[at : at + size], position)
        at += size
    return found + splitter.flush()


def sentences(text: str) -> list[str]:
    found = [""]
    for part in parts(text):
        if isinstance(part, Word):
            found[-1] += part.text
        else:
            found.append("")
    return found if found[-1] else found[:-1]


def words(text: str) -> list[str]:
    return [part.text for part in parts(text) if isinstance(part, Word)]


def test_dots_inside_numbers_names_and_abbreviations_end_nothing() -> None:
    """Fault 13."""
    text = "Dr. Smith paid $3.50 at 3 p.m. on example.dev/v1.2, e.g. 192.168.1.1. Done."
    assert sentences(text) == [text[:-6], " Done."]


def test_wide_punctuation_ends_a_sentence_at_once() -> None:
    """Fault 14."""
    splitter, ended = WordSplitter(), []
    for position, char in enumerate("今天天气真好。我们出去走走吧！好吗？"):
        found = splitter.feed(char, position)
        ended += [position for part in found if isinstance(part, Stop)]
    assert ended == [6, 14, 17]
    assert splitter.flush() == []


def test_two_wide_characters_are_a_word() -> None:
    assert words("今天天气真好。用Python写") == ["今天", "天气", "真好", "。", "用", "Python", "写"]


def test_mixed_scripts() -> None:
    text = "今天天气真好。Let's go out, 我们出去走走吧！ Okay?"
    assert sentences(text) == ["今天天气真好。", "Let's go out, 我们出去走走吧！", " Okay?"]


@pytest.mark.parametrize(
    "text",
    [
        "It is 98.6 degrees.",
        "That is $3.5 for 10,000 of them.",
        "See example.dev for more.",
        "Mr. and Mrs. Jones met Prof. Lee and St. Nicholas.",
        "J. R. R. Tolkien wrote in the U.S. Army, i.e. there.",
        "About approx. five of them.",
        "See No. 5 and fig. 3 on p. 7.",
        "Born on Jan. 5 in Ohio.",
        "He left at 5 p.m. on Friday.",
        "1. First of all",
        "At 10:30 it began.",
        "Well... maybe not.",
    ],
)
def test_one_sentence_stays_whole(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Yes. No", "Yes."),
        ("Is it? No", "Is it?"),
        ('He said "No." Then he left', 'He said "No."'),
        ("**Bold.** Next", "**Bold.**"),
        ("So do I. Then", "So do I."),
        ("It was in 1999. Then", "It was in 1999."),
        ("Pi is 3.14. Then", "Pi is 3.14."),
        ("At 5 p.m. Then", "At 5 p.m."),
        ("Go to www.example.com. Then", "Go to www.example.com."),
        ("Really?! Yes", "Really?!"),
        ("Hm… Maybe", "Hm…"),
        ("Title\nText", "Title"),
        ("Great! 🙂 Next", "Great!"),
    ],
)
def test_sentence_ends(text: str, first: str) -> None:
    assert sentences(text)[0] == first
    assert len(sentences(text)) == 2


def test_nothing_is_decided_while_the_next_character_is_unknown() -> None:
    for text in ("It costs $3.", "Hello Dr.", "Is it?", "It is fine. "):
        assert not any(isinstance(part, Stop) for part in WordSplitter().feed(text, 0))
    assert WordSplitter().feed("3.", 0) == []


def test_a_word_is_known_at_the_space_behind_it() -> None:
    splitter = WordSplitter()
    assert splitter.feed("Hello", 0) == []
    assert splitter.feed(" ", 1) == [Word("Hello", 0)]
    assert splitter.feed("you? ", 2) == [Word(" you?", 1), Stop(Ending.SENTENCE)]


def test_a_position_is_of_the_last_id_wholly_inside() -> None:
    splitter = WordSplitter()
    assert splitter.feed("Hel", 0) + splitter.feed("lo", 1) == []
    assert splitter.feed(" how are", 2) == [Word("Hello", 1), Word(" how", 1)]
    assert splitter.flush() == [Word(" are", 2), Stop(Ending.SENTENCE)]


def test_a_comma_behind_a_letter_ends_a_word_at_once() -> None:
    splitter = WordSplitter()
    assert splitter.feed("Well,", 0) == [Word("Well,", 0)]
    assert splitter.feed(" 10,", 1) == []
    assert splitter.feed("000 ", 2) == [Word(" 10,000", 1)]


def test_a_dash_between_two_words_ends_the_first() -> None:
    assert words("Paris—the well-known city") == ["Paris—", "the", " well-known", " city"]


@pytest.mark.parametrize("word", ["Yes,", "“yes,”", "so:", " —", " -", " –", "well—", "好，"])
def test_phrase_ends(word: str) -> None:
    assert ends_phrase(word)


@pytest.mark.parametrize("word", ["yes", "Yes.", "well-", "10:30", "", "a,b"])
def test_no_phrase_ends(word: str) -> None:
    assert not ends_phrase(word)


def test_an_endless_word_is_cut() -> None:
    assert [len(text) for text in words("x" * (2 * LONGEST_WORD + 5))] == [LONGEST_WORD] * 2 + [5]


def test_an_endless_sentence_is_ended_without_a_rest() -> None:
    found = parts("word " * 70)
    assert found[LONGEST_SENTENCE] == Stop(Ending.WORD)
    assert parts("word, " * 50)[40] == Stop(Ending.WORD)


def test_an_empty_text_has_nothing() -> None:
    assert parts("") == []


ALPHABET = st.text(st.sampled_from("ab AB.,?!:;…—-\n 。，好1 \"'*andthe"), max_size=120)


@given(ALPHABET, st.data())
def test_any_split_gives_the_same_words_and_all_of_the_text(text: str, data: st.DataObject) -> None:
    ones = parts(text)
    assert "".join(part.text for part in ones if isinstance(part, Word)) == text
    sizes = []
    while sum(sizes) < len(text):
        sizes.append(data.draw(st.integers(1, 9)))
    others = parts(text, sizes)
    assert [getattr(p, "text", p) for p in others] == [getattr(p, "text", p) for p in ones]


@given(ALPHABET)
def test_positions_never_go_back_and_end_at_the_last_id(text: str) -> None:
    positions = [part.position for part in parts(text) if isinstance(part, Word)]
    assert positions == sorted(positions)
    if text:
        assert positions[-1] == len(text) - 1
