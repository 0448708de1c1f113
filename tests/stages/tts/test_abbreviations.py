import pytest

from stages.tts.abbreviations import dot_ends, is_short, opens_sentence, read_abbreviation


@pytest.mark.parametrize(
    ("core", "following", "before", "said"),
    [
        ("Dr", "Smith", "", "Doctor"),
        ("Rep", "Lee", "", "Representative"),
        ("rep", "Then", "more", None),
        ("hon", "I", "me", None),
        ("fig", "Then", "a", None),
        ("St", "Paul", "", "Saint"),
        ("St", "Paul", "in", "Saint"),
        ("St", "Helens", "Mount", "Saint"),
        ("St", "The", "Main", "Street"),
        ("St", "is", "", "Street"),
        ("St", "", "42nd", "Street"),
        ("Ave", "The", "5th", "Avenue"),
        ("e.g", "this", "", "for example"),
        ("Nov", "Then", "", "November"),
        ("vs", "them", "us", "versus"),
        ("Approx", "five", "", "approximately"),
        ("word", "Then", "", None),
    ],
)
def test_an_abbreviation_is_told_from_a_word(
    core: str, following: str, before: str, said: str | None
) -> None:
    assert read_abbreviation(core, following, before=before) == said
    assert said is None or is_short(core)


@pytest.mark.parametrize(
    ("core", "following", "ends"),
    [
        ("Dr", "S", False),
        ("rep", "T", True),
        ("hon", "I", True),
        ("fig", "3", False),
        ("fig", "T", True),
        ("No", "5", False),
        ("No", "I", True),
        ("etc", "t", False),
        ("etc", "T", True),
        ("vs", "T", False),
        ("p.m", "o", False),
        ("p.m", "T", True),
        ("10:00 a.m", "T", True),
        ("U.S", "T", None),
        ("Inc", "T", None),
        ("Jr", "T", None),
        ("B", "T", None),
        ("I", "T", True),
        ("1999", "T", True),
        ("St", "4", True),
    ],
)
def test_a_dot_ends_a_sentence_or_not(core: str, following: str, ends: bool | None) -> None:
    assert dot_ends(core, following, opens=False) is ends


def test_a_number_that_opens_a_line_counts_it() -> None:
    assert dot_ends("1", "F", opens=True) is False


@pytest.mark.parametrize(
    ("word", "opens"), [(" The", True), (' "It', True), (" Army", False), (" 5", False)]
)
def test_sentences_seldom_open_with_a_name(word: str, opens: bool) -> None:
    assert opens_sentence(word) is opens
