"""How well words were heard: pure."""

import re
from collections.abc import Iterable, Sequence


def plain(text: str) -> list[str]:
    """Words without case and punctuation."""
    return re.sub(r"[^\w']", " ", text.lower()).split()


def word_errors(said: str, heard: str) -> tuple[int, int]:
    """Wrong words (substituted, missing or too many: the edit distance), and words said."""
    words = plain(said)
    return distance(words, plain(heard)), len(words)


def distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Least number of words to change, drop or add (Levenshtein 1966, by rows)."""
    row = list(range(len(other) + 1))
    for number, word in enumerate(one, 1):
        above, row = row, [number]
        for index, against in enumerate(other):
            row.append(min(above[index + 1] + 1, row[index] + 1, above[index] + (word != against)))
    return row[-1]


def rate(counts: Iterable[tuple[int, int]]) -> float | None:
    """Word error rate over all of them; None where nothing was said."""
    listed = list(counts)
    words = sum(said for _, said in listed)
    return sum(wrong for wrong, _ in listed) / words if words else None


def has(text: str, wanted: str) -> bool:
    """Whether any of "this|or this" stands in a text as whole words, case aside."""
    return any(
        re.search(rf"(?<!\w){re.escape(each.strip())}(?!\w)", text, re.IGNORECASE)
        for each in wanted.split("|")
        if each.strip()
    )
