# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.boundaries import Ending
from stages.tts.clauses import Clause, ClauseRules, ClauseSplitter, count_words
from stages.tts.words import Stop, Word, WordSplitter

DEFAULT = ClauseRules()


def split(text: str, rules: ClauseRules = DEFAULT) -> list[Clause]:
    """Clauses of a text that comes character by character."""
    words, clauses = WordSplitter(), ClauseSplitter(rules)
    parts = [part for position, char in enumerate(text) for part in words.feed(char, position)]
    return [clause for part in parts + words.flush() for clause in clauses.feed(part)]


def texts(text: str, rules: ClauseRules = DEFAULT) -> list[str]:
    return [clause.text for clause in split(text, rules)]


def test_a_sentence_ends_a_clause() -> None:
    assert split("Yes. No?") == [
        Clause("Yes.", 3, Ending.SENTENCE),
        Clause("No?", 7, Ending.SENTENCE),
    ]


def test_wide_punctuation_ends_clauses() -> None:
    """Fault 14."""
    assert texts("今天天气真好。我们出去走走吧！") == ["今天天气真好。", "我们出去走走吧！"]
    assert texts("今天天气很好，我们去吧") == ["今天天气很好，", "我们去吧"]


def test_a_comma_needs_some_words_before_it() -> None:
    assert texts("Well, yes, I do, mostly") == ["Well, yes, I do,", "mostly"]
    assert split("Well, yes, I do, mostly")[0].ending is Ending.PHRASE


def test_the_first_clause_is_cut_early_and_later_ones_may_grow() -> None:
    counts = [len(text.split()) for text in texts("word " * 59 + "word")]
    assert counts == [5, 10, 20, 24, 1]


def test_without_first_words_only_punctuation_cuts() -> None:
    rules = ClauseRules(first_words=0)
    assert texts("one two three four five six seven, eight", rules)[0].endswith("seven,")


def test_a_forced_cut_spares_words_that_lean_on_the_next() -> None:
    assert texts("The capital of France is the city of Paris today") == [
        "The capital of France",
        "is the city of Paris today",
    ]
    assert texts("Mister Smith paid the 3 dollars he owed")[0] == "Mister Smith paid"


def test_a_forced_cut_falls_before_a_new_phrase() -> None:
    assert texts("I like cats because they are soft")[0] == "I like cats"


def test_words_that_all_lean_are_cut_all_the_same() -> None:
    assert texts("the a the a the a the a")[0] == "the a the a the"


def test_an_endless_word_is_cut() -> None:
    assert max(map(len, texts("x" * 450))) < 200 + 60


def test_wide_text_without_punctuation_is_cut_by_characters() -> None:
    assert [len(text) for text in texts("好" * 40)] == [10, 20, 10]


def test_an_empty_text_has_no_clauses() -> None:
    assert split("") == []
    assert ClauseSplitter(DEFAULT).feed(Stop(Ending.SENTENCE)) == []


ALPHABET = st.text(st.sampled_from("ab AB.,?!:;…—-\n 。，好1 \"'*andthe"), max_size=120)


@given(ALPHABET)
def test_all_of_the_text_is_in_a_clause(text: str) -> None:
    rules = ClauseRules(first_words=2, first_minimum=1, minimum=2, maximum=6, longest=30)
    clauses = split(text, rules)
    assert "".join("".join(clause.text.split()) for clause in clauses) == "".join(text.split())
    positions = [clause.position for clause in clauses]
    assert positions == sorted(positions)
    if text:
        assert positions[-1] == len(text) - 1


def test_counting_words() -> None:
    assert count_words([Word(text, 0) for text in ("one,", " two", " -", " 3", " ...")]) == 3
    assert count_words([Word(text, 0) for text in ("今天", " and", " 한국어", " 말")]) == 4
