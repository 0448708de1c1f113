"""Words as they are written to words as they are said, with one word of lookahead.

A word that is plain is passed on at once. One that may belong to the next ("$5 million", "May 5",
"No. 5"), whose dot may end the sentence or not ("etc."), or that is a sign between two numbers
waits for it.
"""

# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)

import re
from collections import deque
from dataclasses import dataclass

from stages.tts.abbreviations import is_short, read_abbreviation
from stages.tts.addresses import read_address
from stages.tts.arithmetic import (
    SYMBOLS,
    is_doubtful,
    is_operator,
    read_operator,
    read_powers,
    read_term,
)
from stages.tts.boundaries import (
    CLOSERS,
    OPENERS,
    WIDE_PHRASE_ENDS,
    WIDE_SENTENCE_ENDS,
    is_east_asian,
    is_wide,
)
from stages.tts.quantities import may_go_on, read_quantity
from stages.tts.speakable import say_word
from stages.tts.words import Stop, Word

_ENDINGS = ".,;:!?…—–" + CLOSERS
_RESTS = "-–—,;:→⇒➜>|•·"
_WIDE_ENDS = WIDE_SENTENCE_ENDS + WIDE_PHRASE_ENDS
_RESTED = frozenset(",;:!?…" + _WIDE_ENDS)
_TELEPHONE = re.compile(r"(\s*)((?:\+\d{1,3} )?\(\d{3}\)(?: [\d-]+)?)(\D*)")
_TIMES = re.compile(r"[\d.]+x")
_DECADE = re.compile(r"[2-9]0s")
_BEFORE_DECADES = re.compile(r"the|his|her|its|my|our|your|their|early|mid|late", re.IGNORECASE)


@dataclass(frozen=True)
class _Parts:
    """A word, taken apart: white space, punctuation before, the word itself, punctuation behind."""

    space: str
    before: str
    core: str
    behind: str

    @classmethod
    def of(cls, text: str) -> "_Parts":
        if match := _TELEPHONE.fullmatch(text):
            return cls(match[1], "", match[2], match[3])
        stripped = text.lstrip()
        if is_operator(stripped):
            return cls(text[: len(text) - len(stripped)], "", stripped, "")
        core = stripped.lstrip(OPENERS)
        bare = core.rstrip(_ENDINGS)
        return cls(
            text[: len(text) - len(stripped)],
            stripped[: len(stripped) - len(core)],
            bare,
            core[len(bare) :],
        )

    @property
    def is_short(self) -> bool:
        """Whether its dot may be that of an abbreviation."""
        return self.behind.startswith(".") and is_short(self.core)

    def with_next(self, other: "_Parts") -> str | None:
        """Two words that are said as one; None if they are not."""
        dot = "." if self.behind and self.is_short else ""
        if self.behind != dot or not other.space or other.before:
            return None
        if not dot and not may_go_on(self.core):
            return None
        core = f"{self.core}{dot} {other.core}"
        return f"{self.space}{self.before}{core}{other.behind}" if read_quantity(core) else None


class Reader:
    """The words of one answer, as they are said.

    Args:
        english: read numbers, abbreviations and addresses as English; else they stay as they are.
    """

    def __init__(self, *, english: bool) -> None:
        self._english = english
        self._held: Word | None = None
        self._before: deque[str] = deque(maxlen=2)  # words of this sentence; "" if a rest follows
        self._opens = True  # nothing was said of this sentence
        self._end = ""  # the last character said

    def feed(self, part: Word | Stop) -> list[Word | Stop]:
        """What can be said for certain, now that `part` has come."""
        if isinstance(part, Stop):
            said = self.flush()
            ends = [] if self._opens else [part]
            self._opens = True
            self._before.clear()
            return [*said, *ends]
        if not self._english:
            return self._say(part.text, part.position)
        if self._held is None:
            return self._take(part)
        held, self._held = self._held, None
        following = _Parts.of(part.text)
        if joined := _Parts.of(held.text).with_next(following):
            return self._take(Word(joined, part.position))
        return [*self._read(held, following), *self._take(part)]

    def flush(self) -> list[Word | Stop]:
        """The word that waits, if there is one; nothing follows it."""
        held, self._held = self._held, None
        return self._read(held, None) if held else []

    def _take(self, word: Word) -> list[Word | Stop]:
        if self._waits(_Parts.of(word.text)):
            self._held = word
            return []
        return self._read(word, None)

    def _waits(self, parts: _Parts) -> bool:
        """Whether what follows may change how a word is said."""
        if parts.is_short:
            return True
        if parts.behind:
            return False
        if is_doubtful(parts.core, self._last):
            return True
        return may_go_on(parts.core) or _TIMES.fullmatch(parts.core) is not None

    def _read(self, word: Word, following: _Parts | None) -> list[Word | Stop]:
        """A word by itself; `following`: the next one of its sentence, if it had to be known."""
        parts = _Parts.of(word.text)
        if self._opens and word.text.strip() == "+":
            return []  # a bullet
        next_core = following.core if following else ""
        core = self._said(parts, next_core)
        behind = parts.behind
        if parts.is_short and (following or behind[1:].strip(CLOSERS)):
            behind = behind[1:]  # the dot is not the sentence's
        said = self._say(f"{parts.space}{parts.before}{core}{_as_rest(behind)}", word.position)
        if said:
            self._before.append("" if parts.behind.strip(CLOSERS) else parts.core)
        return said

    def _said(self, parts: _Parts, following: str) -> str:
        core = parts.core
        if parts.behind.startswith("."):
            name = self._last if len(self._before) > 1 else ""
            if said := read_abbreviation(core, following, before=name):
                return said
            if said := read_address(f"{core}."):
                return said
        goes_on = len(self._before) > 1 and is_operator(self._before[0])
        if operator := read_operator(core, self._last, following, goes_on=goes_on):
            return operator
        if _TIMES.fullmatch(core) and (is_operator(self._last) or is_operator(following)):
            return read_term(core) or core
        is_decade = parts.before.endswith(("'", "’", "‘")) or _BEFORE_DECADES.fullmatch(self._last)
        if is_decade and _DECADE.fullmatch(core):
            core = f"'{core}"
        return SYMBOLS.get(core) or read_quantity(core) or read_address(core) or read_powers(core)

    @property
    def _last(self) -> str:
        return self._before[-1] if self._before else ""

    def _say(self, text: str, position: int) -> list[Word | Stop]:
        said = say_word(text)
        if not any(map(str.isalnum, said)):
            said = _rest(text, said, self._end)
            if not said or self._opens:
                return []
        elif not self._opens and not is_wide(said.lstrip()[0]):
            said = f" {said.lstrip()}"  # it may have followed a dash
        self._opens, self._end = False, said[-1]
        return [Word(said, position)]


def _as_rest(behind: str) -> str:
    """Punctuation behind a word; a voice knows a dash best as a comma."""
    return behind.replace("—", ",").replace("–", ",")


def _rest(text: str, said: str, last: str) -> str:
    """What remains of a word without letters, behind `last`: the rest that it stands for.

    A voice that rests already is left alone: it may have said so, and cannot take that back.
    """
    if last in _RESTED:
        return ""
    bare = text.strip()
    if bare and not bare.strip(_RESTS):
        return ","
    end = said.rstrip(CLOSERS)
    ends = f"!?{_WIDE_ENDS}" if is_east_asian(last) else _WIDE_ENDS  # of a word that was cut
    return end if end and end in ends else ""
