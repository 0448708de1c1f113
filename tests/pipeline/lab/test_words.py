"""Words that were heard against words that were said."""

import pytest

from pipeline.lab.words import has, rate, word_errors


@pytest.mark.parametrize(
    ("said", "heard", "errors"),
    [
        ("What do plants need?", "what do plants need", (0, 4)),
        ("a b c", "a x c", (1, 3)),
        ("a b c", "a c", (1, 3)),
        ("a b", "a b c d", (2, 2)),
        ("a b", "", (2, 2)),
        ("", "thank you", (2, 0)),
        ("", "", (0, 0)),
        ("don't", "dont", (1, 1)),
    ],
)
def test_word_errors(said: str, heard: str, errors: tuple[int, int]) -> None:
    assert word_errors(said, heard) == errors


def test_the_rate_is_over_all_words_not_over_clips() -> None:
    assert rate([(1, 1), (0, 9)]) == 0.1
    assert rate([(3, 0)]) is None, "invented words in silence are no rate"
    assert rate([]) is None


@pytest.mark.parametrize(
    ("text", "wanted", "there"),
    [
        ("Plants need Water.", "water", True),
        ("Plants need sunlight.", "light", False),
        ("Plants need sunlight.", "light|sunlight", True),
        ("It costs $3.50", "$3.50", True),
        ("", "water", False),
        ("anything", "|", False),
    ],
)
def test_expected_words_are_whole_words(text: str, wanted: str, there: bool) -> None:
    assert has(text, wanted) is there
