"""Where sentences and phrases end: which characters end what."""

# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)

import unicodedata
from enum import Enum

CLOSERS = "\"'”’»)]}*_"
OPENERS = "\"'“‘«([{*_"
WIDE_SENTENCE_ENDS = "。！？｡"
WIDE_PHRASE_ENDS = "，、；：､"
_PHRASE_ENDS = (",", ";", ":", "—", "–", "-", *WIDE_PHRASE_ENDS)


class Ending(Enum):
    """Why something ends where it does, and so how long the voice rests after it."""

    SENTENCE = "sentence"
    PHRASE = "phrase"
    WORD = "word"


def is_east_asian(char: str) -> bool:
    """A letter of Chinese, Japanese or Korean."""
    return char >= "\u1100" and char.isalpha() and unicodedata.east_asian_width(char) == "W"


def is_wide(char: str) -> bool:
    """A letter of a script that puts no spaces between words (Hangul does)."""
    return is_east_asian(char) and not unicodedata.name(char, "").startswith("HANGUL")


def bare(word: str) -> str:
    """A word without the white space, quotes, brackets and emphasis around it."""
    return word.strip().rstrip(CLOSERS).lstrip(OPENERS)


def ends_without_space(word: str, letter: str, char: str) -> bool:
    """Whether a half-width mark ends a sentence though no space follows, as in Chinese.

    Args:
        word: what ends in the mark.
        letter: the last letter or digit before the mark.
        char: what follows.
    """
    mark = word.rstrip(CLOSERS)[-1:]
    if mark == ".":
        return is_east_asian(letter) and is_east_asian(char)
    is_between = is_east_asian(char) or (is_east_asian(letter) and char.isalnum())
    return mark in ("!", "?") and is_between


def ends_phrase(word: str) -> bool:
    """Whether a voice rests after a word: a comma and its like, or a dash that stands alone."""
    core = word.strip().rstrip(CLOSERS)
    return core.endswith(_PHRASE_ENDS) and (core[-1] != "-" or core == "-")


def ends_at_space(word: str) -> bool:
    """Whether a word ends its sentence whatever follows the space behind it."""
    return word.rstrip(CLOSERS).endswith(("?", "!", "…"))


def may_end_at(word: str) -> bool:
    """Whether a word ends its sentence, or not, by what follows the space behind it."""
    return word.rstrip(CLOSERS).endswith(".")
