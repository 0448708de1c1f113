# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.clauses import Clause, ClauseRules, ClauseSplitter, Ending, count_words

DEFAULT = ClauseRules()
PUNCTUATION = ClauseRules(first_words=0, first_minimum=1, minimum=1, maximum=1000, longest=1000)
SENTENCES = ClauseRules(first_words=0, first_minimum=99, minimum=99, maximum=1000, longest=1000)


def split(text: str, rules: ClauseRules = DEFAULT, sizes: list[int] | None = None) -> list[Clause]:
    """Feed text in pieces of the given sizes (one character each), then flush."""
    splitter, clauses, at = ClauseSplitter(rules), [], 0
    for position, size in enumerate(sizes or [1] * len(text)):
        clauses += splitter.feed(text[at : at + size], position)
        at += size
    return clauses + splitter.flush()


def texts(text: str, rules: ClauseRules = DEFAULT) -> list[str]:
    return [clause.text for clause in split(text, rules)]


def test_dots_inside_numbers_names_and_abbreviations_end_nothing() -> None:
    """Fault 13."""
    text = "Dr. Smith paid $3.50 at 3 p.m. on example.dev/v1.2, e.g. 192.168.1.1. Done."
    assert texts(text, SENTENCES) == [text[:-6], " Done."]
    ends = [clause.ending for clause in split(text)]
    assert ends.count(Ending.SENTENCE) == 2
    for word in ("Dr. Smith", "$3.50", "3 p.m.", "example.dev/v1.2", "192.168.1.1."):
        assert any(word in clause.text for clause in split(text))


def test_wide_punctuation_ends_a_sentence_at_once() -> None:
    """Fault 14."""
    splitter = ClauseSplitter(DEFAULT)
    spoken = {}
    for position, char in enumerate("今天天气真好。我们出去走走吧！好吗？"):
        for clause in splitter.feed(char, position):
            spoken[position] = clause.text
    assert spoken == {6: "今天天气真好。", 14: "我们出去走走吧！", 17: "好吗？"}
    assert splitter.flush() == []


def test_mixed_scripts() -> None:
    text = "今天天气真好。Let's go out, 我们出去走走吧！ Okay?"
    assert texts(text, SENTENCES) == [
        "今天天气真好。",
        "Let's go out, 我们出去走走吧！",
        " Okay?",
    ]


def test_a_wide_comma_ends_a_first_clause() -> None:
    text = "今天天气很好，我们去吧"
    assert texts(text) == ["今天天气很好，", "我们去吧"]


@pytest.mark.parametrize(
    "text",
    [
        "It is 98.6 degrees.",
        "That is $3.5 for 10,000 of them.",
        "See example.dev for more.",
        "Mr. and Mrs. Jones met Prof. Lee and St. Nicholas.",
        "J. R. R. Tolkien wrote in the U.S. Army, i.e. there.",
        "She has a Ph.D. She said so.",
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
    assert texts(text, SENTENCES) == [text]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Yes. No", "Yes."),
        ("Is it? No", "Is it?"),
        ('He said "No." Then he left', 'He said "No."'),
        ("**Bold.** Next", "**Bold.**"),
        ("No. I do not", "No."),
        ("So do I. Then", "So do I."),
        ("It was in 1999. Then", "It was in 1999."),
        ("Pi is 3.14. Then", "Pi is 3.14."),
        ("At 5 p.m. Then", "At 5 p.m."),
        ("Go to www.example.com. Then", "Go to www.example.com."),
        ("Wow!! Great", "Wow!!"),
        ("Really?! Yes", "Really?!"),
        ("Hm… Maybe", "Hm…"),
        ("Title\nText", "Title"),
        ("Great! 🙂 Next", "Great!"),
    ],
)
def test_sentence_ends(text: str, first: str) -> None:
    clauses = split(text, SENTENCES)
    assert clauses[0] == Clause(first, len(first) - 1, Ending.SENTENCE)
    assert len(clauses) == 2


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Yes, it is", "Yes,"),
        ("Cats; dogs", "Cats;"),
        ("Note: this", "Note:"),
        ("It is — well", "It is —"),
        ("It is - well", "It is -"),
        ("Paris—the city", "Paris—"),
        ("“Yes,” he said", "“Yes,”"),
    ],
)
def test_phrase_ends(text: str, first: str) -> None:
    clauses = split(text, PUNCTUATION)
    assert clauses[0] == Clause(first, len(first) - 1, Ending.PHRASE)
    assert len(clauses) == 2


@pytest.mark.parametrize("text", ["10,000 men", "at 10:30 sharp", "well-known", "1—2 of", "a,b"])
def test_no_phrase_ends_inside_a_word(text: str) -> None:
    assert texts(text, PUNCTUATION) == [text]


def test_nothing_is_decided_while_the_next_character_is_unknown() -> None:
    for text in ("It costs $3.", "Hello Dr.", "Yes", "Is it?", "It is fine."):
        assert ClauseSplitter(SENTENCES).feed(text, 0) == []


def test_a_comma_needs_some_words_before_it() -> None:
    assert texts("Well, yes, I do, mostly") == ["Well, yes, I do,", " mostly"]


def test_the_first_clause_is_cut_early_and_later_ones_may_grow() -> None:
    counts = [len(text.split()) for text in texts("word " * 60)]
    assert counts == [5, 10, 20, 24, 1]


def test_a_forced_cut_spares_words_that_lean_on_the_next() -> None:
    assert texts("The capital of France is the city of Paris today") == [
        "The capital of France",
        " is the city of Paris today",
    ]
    assert texts("Dr. Smith paid the 3 dollars he owed")[0] == "Dr. Smith paid"


def test_a_forced_cut_falls_before_a_new_phrase() -> None:
    assert texts("I like cats because they are soft")[0] == "I like cats"


def test_words_that_all_lean_are_cut_all_the_same() -> None:
    assert texts("the a the a the a the a")[0] == "the a the a the"


def test_an_endless_word_is_cut() -> None:
    assert [len(text) for text in texts("x" * 450)] == [200, 200, 50]


def test_text_without_words_is_bounded_too() -> None:
    assert max(map(len, texts("? " * 400))) <= 200
    assert max(map(len, texts(" " * 450))) <= 200


def test_wide_text_without_punctuation_is_cut_by_characters() -> None:
    assert [len(text) for text in texts("好" * 40)] == [10, 20, 10]


def test_a_position_is_of_the_last_id_wholly_inside() -> None:
    splitter = ClauseSplitter(DEFAULT)
    assert splitter.feed("Hello", 0) == []
    assert splitter.feed(".", 1) == []
    assert splitter.feed("", 2) == []
    assert splitter.feed(" How are you? I", 3) == [
        Clause("Hello.", 1, Ending.SENTENCE),
        Clause(" How are you?", 2, Ending.SENTENCE),  # id 3 is not voiced to its end
    ]
    assert splitter.feed(" am", 4) == []
    assert splitter.flush() == [Clause(" I am", 4, Ending.SENTENCE)]


def test_a_single_id_with_two_sentences_voices_no_id_before_it() -> None:
    assert ClauseSplitter(DEFAULT).feed("Hi. Yes", 0) == [Clause("Hi.", 0, Ending.SENTENCE)]


def test_an_empty_text_has_no_clauses() -> None:
    assert split("") == []


def test_only_punctuation_is_one_clause() -> None:
    assert texts("... ?! \n") == ["... ?! \n"]


ALPHABET = st.text(st.sampled_from("ab AB.,?!:;…—-\n 。，好1 \"'*andthe"), max_size=120)


@given(ALPHABET, st.data())
def test_any_split_gives_the_same_clauses_and_all_of_the_text(
    text: str, data: st.DataObject
) -> None:
    rules = ClauseRules(first_words=2, first_minimum=1, minimum=2, maximum=6, longest=30)
    ones = split(text, rules)
    assert "".join(clause.text for clause in ones) == text
    assert all(len(clause.text) <= rules.longest for clause in ones)
    sizes = []
    while sum(sizes) < len(text):
        sizes.append(data.draw(st.integers(1, 9)))
    others = split(text, rules, sizes)
    assert [(c.text, c.ending) for c in others] == [(c.text, c.ending) for c in ones]


@given(ALPHABET)
def test_positions_never_go_back_and_end_at_the_last_id(text: str) -> None:
    positions = [clause.position for clause in split(text)]
    assert positions == sorted(positions)
    if text:
        assert positions[-1] == len(text) - 1


def test_counting_words() -> None:
    assert count_words("one, two - 3 ...") == 3
    assert count_words("今天 and 한국어 말") == 4
