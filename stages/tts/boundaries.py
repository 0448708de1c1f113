"""Where sentences and phrases end: what a dot means, which characters end what."""

# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)

import re
import unicodedata
from enum import Enum

CLOSERS = "\"'”’»)]}*_`"
OPENERS = "\"'“‘«([{*_`"
WIDE_SENTENCE_ENDS = "。！？｡"
WIDE_PHRASE_ENDS = "，、；：､"
_PHRASE_ENDS = (",", ";", ":", "—", "–", "-", *WIDE_PHRASE_ENDS)


class Ending(Enum):
    """Why something ends where it does, and so how long the voice rests after it."""

    SENTENCE = "sentence"
    PHRASE = "phrase"
    WORD = "word"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: something always follows.
_OPEN_ABBREVIATIONS = _words(
    "adm capt cf col dr e.g fr gen gov hon i.e lt messrs mr mrs ms mt pres prof rep rev sen sgt st "
    "viz vs"
)
# The end of a sentence unless a number follows.
_NUMBERED_ABBREVIATIONS = _words(
    "apr approx art aug ca ch dec eq feb fig figs jan jul jun mar max min no nos nov oct op p pp "
    "sec sep sept v ver vol vols"
)
# Inner dots, as in U.S or Ph.D, mark an abbreviation that is rarely the end; these often are.
_CLOSING_ABBREVIATIONS = frozenset({"a.m", "p.m"})


def is_wide(char: str) -> bool:
    """A letter of a script that puts no spaces between words (Hangul does)."""
    if char < "\u2e80" or not char.isalpha():
        return False
    return unicodedata.east_asian_width(char) == "W" and not "\uac00" <= char <= "\ud7a3"


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


def dot_ends(word: str, following: str, *, opens: bool) -> bool:
    """Whether the dot of `word` ends a sentence, if a space and then `following` come.

    Args:
        word: with its dot and whatever surrounds it.
        following: the next character that is not a space.
        opens: the word is the first of its sentence.
    """
    core = word.strip().rstrip(CLOSERS).lstrip(OPENERS).removesuffix(".")
    name = core.lower()
    if following.islower() or name in _OPEN_ABBREVIATIONS:
        return False
    if name in _NUMBERED_ABBREVIATIONS:
        return not following.isdigit()
    if core.isdigit():
        return not opens  # "1." that opens a list item
    if len(core) == 1:
        return not core.isalpha() or core == "I"  # an initial: J. Smith
    is_dotted = re.fullmatch(r"(\w{1,2}\.)+\w{1,2}", core) is not None and not core[0].isdigit()
    return not is_dotted or name in _CLOSING_ABBREVIATIONS
