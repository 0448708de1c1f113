"""Text that grows in pieces, cut into clauses as soon as each cut is certain.

A clause is what the voice synthesises at once. The first one decides how soon an answer is heard,
so it may end at the first comma or after a few words; each later one may be twice as long as the
one before, because the sound of that one buys the time.

Every decision looks only at characters that are known, one at a time, so that the clauses do not
depend on how the text was split into pieces, and their joined text is the text.
"""

# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)

import re
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from stages.tts.boundaries import Ending


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CLOSERS = "\"'”’»)]}*_`"
_OPENERS = "\"'“‘«([{*_`"
_WIDE_SENTENCE_ENDS = "。！？｡"
_WIDE_CLAUSE_ENDS = "，、；：､"
_DASHES = ("—", " –", " -")

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

# A new phrase begins before these, so that a forced cut there is heard least.
_PHRASE_STARTS = _words(
    "and although as because but if or since so than that though unless until when where which "
    "while who"
)
# These lean on the next word: a cut after them is heard most.
_LEANING = _words(
    "a about an and are as at because been but by can for from has have his her if in into is its "
    "my of on or our than that the their this to very was were which who will with your"
)


@dataclass(frozen=True)
class Clause:
    """A stretch of the reply.

    `position` is that of the last id whose text lies wholly within this or earlier clauses.
    """

    text: str
    position: int
    ending: Ending


@dataclass(frozen=True)
class ClauseRules:
    """How long clauses may be. Two characters of Chinese or Japanese count as a word.

    Five first words is where Piper (joe, medium) still speaks as long (ratio 1.04) and as clearly
    (no more recognition errors) as in whole sentences; four gain a word's time but stretch it by
    1.06, and at three the errors double. Ids every 60 ms on half a core then leave no gap.

    Attributes:
        first_words: the first clause is cut after this many words; 0: only at punctuation.
        first_minimum: fewest words before a comma, or a forced cut, ends the first clause.
        minimum: the same for later clauses.
        maximum: most words in any clause.
        longest: most characters in any clause, for text without words.
    """

    first_words: int = 5
    first_minimum: int = 3
    minimum: int = 6
    maximum: int = 24
    longest: int = 200

    def limits(self, spoken: int) -> tuple[int, int]:
        """Fewest and most words of the next clause, after `spoken` clauses."""
        least = self.minimum if spoken else self.first_minimum
        if not self.first_words:
            return least, self.maximum
        return least, min(self.maximum, self.first_words << min(spoken, 16))


class Cut(NamedTuple):
    """Where a clause ends: before the character at `at`."""

    at: int
    ending: Ending


class ClauseSplitter:
    """Cuts the text of one answer."""

    def __init__(self, rules: ClauseRules) -> None:
        self._rules = rules
        self._text = ""
        self._positions: list[int] = []  # of the id that completed each character
        self._spoken = 0

    def feed(self, text: str, position: int) -> list[Clause]:
        """Clauses that are certain, now that the id at `position` has completed `text`."""
        clauses = []
        for char in text:
            self._text += char
            self._positions.append(position)
            if cut := find_cut(self._text, *self._rules.limits(self._spoken), self._rules.longest):
                clauses.append(self._take(cut))
        return clauses

    def flush(self) -> list[Clause]:
        """What is left when the reply has ended: at most one clause."""
        return [self._take(Cut(len(self._text), Ending.SENTENCE))] if self._text else []

    def _take(self, cut: Cut) -> Clause:
        text, self._text = self._text[: cut.at], self._text[cut.at :]
        last = self._positions[cut.at - 1]
        self._positions = self._positions[cut.at :]
        if self._positions and self._positions[0] == last:
            last = max(last - 1, 0)  # the rest of that id's text is still to be voiced
        if any(map(str.isalnum, text)):
            self._spoken += 1
        return Clause(text, last, cut.ending)


def find_cut(text: str, least: int, most: int, longest: int) -> Cut | None:
    """The cut that the last character of `text` makes certain, if any.

    Args:
        text: the clause so far; every shorter beginning of it was refused.
        least, most: words; see `ClauseRules.limits`.
        longest: characters.
    """
    if not any(map(str.isalnum, text)):
        return _length_cut(text, longest)
    if at := _newline(text) or _sentence_end(text):
        return Cut(at, Ending.SENTENCE)
    if (at := _phrase_end(text)) and count_words(text[:at]) >= least:
        return Cut(at, Ending.PHRASE)
    if at := _word_limit(text, least, most):
        return Cut(at, Ending.WORD)
    return _length_cut(text, longest)


def count_words(text: str) -> float:
    """Words between spaces that hold a letter or digit; a wide character is half a word."""
    wide = sum(map(_is_wide, text))
    narrow = "".join(" " if _is_wide(char) else char for char in text) if wide else text
    return wide / 2 + sum(any(map(str.isalnum, word)) for word in narrow.split())


def _is_wide(char: str) -> bool:
    """A letter of a script that puts no spaces between words (Hangul does)."""
    if char < "\u2e80" or not char.isalpha():
        return False
    return unicodedata.east_asian_width(char) == "W" and not "\uac00" <= char <= "\ud7a3"


def _newline(text: str) -> int:
    return len(text.rstrip()) if text[-1] == "\n" else 0


def _sentence_end(text: str) -> int:
    """Index after a sentence: known at the space after ? or !, one character later after a dot."""
    last, before = text[-1], text[:-1]
    if last in _WIDE_SENTENCE_ENDS:
        return len(text)
    head = before.rstrip()
    core = head.rstrip(_CLOSERS)
    if last.isspace():
        return len(head) if head == before and core.endswith(("?", "!", "…")) else 0
    ends = head != before and core.endswith(".") and _dot_ends(core, last)
    return len(head) if ends else 0


def _dot_ends(core: str, following: str) -> bool:
    """Whether the dot at the end of `core`, then a space, then `following`, ends a sentence."""
    word = core.split()[-1].lstrip(_OPENERS).removesuffix(".")
    name = word.lower()
    if following.islower() or name in _OPEN_ABBREVIATIONS:
        return False
    if name in _NUMBERED_ABBREVIATIONS:
        return not following.isdigit()
    if word.isdigit():
        return core.strip().lstrip("#>*_- ") != f"{word}."  # "1." that opens a list item
    if len(word) == 1:
        return not word.isalpha() or word == "I"  # an initial: J. Smith
    is_dotted = re.fullmatch(r"(\w{1,2}\.)+\w{1,2}", word) is not None and not word[0].isdigit()
    return not is_dotted or name in _CLOSING_ABBREVIATIONS


def _phrase_end(text: str) -> int:
    """Index after a comma and its like: known at the space that follows it."""
    last, head = text[-1], text[:-1]
    if last in _WIDE_CLAUSE_ENDS:
        return len(text)
    if last.isspace() and head.rstrip(_CLOSERS).endswith((",", ";", ":", *_DASHES)):
        return len(head)
    return len(head) if head.endswith("—") and last.isalpha() else 0


def _word_limit(text: str, least: int, most: int) -> int:
    """Index of the best cut between two words, once there are `most` of them."""
    last, head = text[-1], text[:-1]
    at_word_end = _is_wide(last) or (last.isspace() and not head.endswith((" ", "\n")))
    if not at_word_end or count_words(head) < most:
        return 0
    spaces = [match.start() for match in re.finditer(r"(?<=\S)\s", head)]
    starts = [at for at in spaces if _word_at(head, at) in _PHRASE_STARTS]
    firm = [at for at in (*spaces, len(head)) if not _leans(_word_before(head, at))]
    for at in (*reversed(starts), *reversed(firm)):
        if count_words(head[:at]) >= least:
            return at
    return len(head)


def _word_at(text: str, at: int) -> str:
    return text[at:].split(maxsplit=1)[0].lower()


def _word_before(text: str, at: int) -> str:
    return text[:at].split()[-1].lower()


def _leans(word: str) -> bool:
    return word in _LEANING or word[-1].isdigit()  # a number leans on its unit


def _length_cut(text: str, longest: int) -> Cut | None:
    """The last resort: before the last word, or right here if it is a single endless one."""
    if len(text) < longest:
        return None
    at = len(text.rstrip()) if text[-1].isspace() else text.rfind(" ")
    return Cut(at if at > 0 and text[:at].strip() else len(text), Ending.WORD)
