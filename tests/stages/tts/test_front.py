# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.tokenizer import ByteVocabulary, Vocabulary
from stages.tts.front import Front
from stages.tts.words import Stop, Word
from tests.stages.tts.reading_aloud import parts, said


def test_one_sentence_with_every_dot_there_is() -> None:
    """Fault 13."""
    text = "Dr. Smith paid $3.50 at 3 p.m. on example.dev/v1.2, e.g. 192.168.1.1. Done."
    assert said(text) == (
        "Doctor Smith paid three dollars fifty cents at three P M on example dot dev slash v1 dot "
        "2, for example one hundred and ninety-two dot one hundred and sixty-eight dot one dot "
        "one. | Done. |"
    )


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("It is 3.14.", "It is three point one four."),
        ("-5 degrees", "minus five degrees"),
        ("1,234,567 of 10,000", "one million two hundred and thirty-four thousand five hundred "
         "and sixty-seven of ten thousand"),
        ("agent 007", "agent zero zero seven"),
        ("$1, $3, $0.99", "one dollar, three dollars, ninety-nine cents"),
        ("£2.50, €1.10, ¥300", "two pounds fifty pence, one euro ten cents, three hundred yen"),
        ("$3.5M or $5 million", "three point five million dollars or five million dollars"),
        ("50% of 20°C", "fifty percent of twenty degrees Celsius"),
        ("5 km, 1 kg, 60mph", "five kilometers, one kilogram, sixty miles per hour"),
        ("at 10:30, 10:00, 7:05", "at ten thirty, ten o'clock, seven oh five"),
        ("at 7am or 3 p.m. today", "at seven A M or three P M today"),
        ("It is 3 p.m. Go", "It is three P M. | Go"),
        ("on May 5, 2024", "on May fifth, twenty twenty-four"),
        ("2024-05-17", "May seventeenth, twenty twenty-four"),
        ("in 1984 and 2005", "in nineteen eighty-four and two thousand and five"),
        ("the 1990s, '60s", "the nineteen nineties, 'sixties"),
        ("1914–1918, 3-4", "nineteen fourteen to nineteen eighteen, three to four"),
        ("the 3rd, 21st", "the third, twenty-first"),
        ("1/2, 3/4, 2/3, 7/12", "one half, three quarters, two thirds, seven over twelve"),
        ("call 555-1234", "call five five five, one two three four"),
        ("v2.0.1 or v2", "version two dot zero dot one or version two"),
        ("2x4, #5", "two by four, number five"),
        ("3 + 4 = 7", "three plus four equals seven"),
        ("No. 5, p. 7", "number five, page seven"),
        ("No. I do", "No. | I do"),
        ("Mr. and Mrs. Jones", "Mister and Missus Jones"),
        ("J. R. R. of the U.S. Army", "J R R of the U S Army"),
        ("and so on, etc. Then", "and so on, et cetera. | Then"),
        ("salt & pepper", "salt and pepper"),
        ("a.b@c-d.org", "a dot b at c dash d dot org"),
        ("https://www.example.com/a/b?c=d#e.", "example dot com slash a slash b."),
        ("open main.py", "open main dot py"),
    ],
)  # fmt: skip
def test_what_is_written_short_is_read_out(text: str, spoken: str) -> None:
    assert said(text).removesuffix(" |") == spoken


def test_other_languages_keep_their_digits() -> None:
    assert said("Es sind 3,5 km am 5. Mai", english=False) == "Es sind 3,5 km am 5. | Mai |"


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("# Title\n- one\n* two\n+ three\n> four", "Title | one | two | three | four |"),
        ("1. First\n2. Second", "one. First | two. Second |"),
        ("**Bold.** And *soft*", "Bold. | And soft |"),
        ("See [the page](http://x.y) now", "See the page now |"),
        ("Run\n```sh\nls -l\n```\nnow", "Run | now |"),
        ("Hi 🙂 there 👍🏽", "Hi there |"),
        ("Paris—the city – it is", "Paris, the city, it is |"),
    ],
)
def test_markup_is_not_said(text: str, spoken: str) -> None:
    assert said(text) == spoken


@pytest.mark.parametrize("text", ["", "...", "🙂", "ʤ", "- \n—", "?! \n", "\x00\x07", "** **"])
def test_without_a_letter_nothing_is_said(text: str) -> None:
    """Fault 15."""
    assert not any(isinstance(part, Word) for part in parts(text))


def test_thoughts_are_not_said() -> None:
    """Fault 12."""
    assert said("<think>\nplan. a\n</think>\n\nHi.") == "Hi. |"
    assert said("<think>never closed. So") == ""
    assert said("it is 1 <th") == "it is one th |"
    assert said("<think>a</think> b", thinking=False) == "a b |"


def test_bytes_of_a_character_come_one_by_one() -> None:
    """Fault 10."""
    assert said("ok 🔥 한국어 👩‍👩‍👧 é") == "ok 한국어 é |"
    assert "\ufffd" not in said("ok 🔥".encode()[:-1])


def test_wide_sentences_are_certain_at_once() -> None:
    """Fault 14."""
    front, stops = Front(ByteVocabulary()), []
    text = "今天天气真好。我们出去走走吧！好吗？"
    for position, id in enumerate(text.encode()):
        stops += [position for part in front.feed(id, position) if isinstance(part, Stop)]
    assert stops == [20, 44, 53]
    assert said(text) == "今天天气真好。 |我们出去走走吧！ |好吗？ |"


def test_spaces_of_sentencepiece_are_spaces() -> None:
    table = (b" Hello", b" wor", b"ld", b",", b" you")
    front = Front(Vocabulary(table, strips_space=True))
    found = [front.feed(id, position) for position, id in enumerate(range(5))]
    assert found == [[], [Word("Hello", 0)], [], [Word(" world,", 3)], []]
    assert front.flush()[0] == Word(" you", 4)


def test_a_number_waits_for_one_word_and_no_more() -> None:
    front, known = Front(ByteVocabulary()), []
    for position, id in enumerate(b"It is 5 big x"):
        known.append(len(front.feed(id, position)))
    assert known == [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0]


@given(st.text(st.sampled_from("ab A1 5.,$%:-/—\n。好`[](&*p.m@"), max_size=60))
def test_positions_never_go_back(text: str) -> None:
    found = [part for part in parts(text) if isinstance(part, Word)]
    positions = [word.position for word in found]
    assert positions == sorted(positions)
    assert all(word.text.strip() for word in found)


def test_an_id_costs_the_same_after_a_thousand_words_as_after_ten() -> None:
    """Counted in calls, not in time: what is kept of the text stays small."""
    front = Front(ByteVocabulary())
    for position, id in enumerate(b"endless words without any end " * 400):
        front.feed(id, position)
    assert len(front._splitter._text) <= 60
    assert front._reader._held is None
