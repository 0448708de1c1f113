"""Words as they are written to words as they are said, with at most one word of lookahead.

A word that is plain is passed on at once. One that may belong to the next ("$5 million", "May 5",
"No. 5"), or whose dot may end the sentence or not ("etc."), waits for it.
"""

# ruff: noqa: RUF001  (the punctuation of several languages is what this file is about)

from dataclasses import dataclass

from stages.tts.boundaries import CLOSERS, OPENERS, WIDE_PHRASE_ENDS, WIDE_SENTENCE_ENDS, is_wide
from stages.tts.names import SYMBOLS, read_before_number, read_name
from stages.tts.numerals import MONTHS, read_date, read_number, read_with
from stages.tts.speakable import say_word
from stages.tts.words import Stop, Word

_ENDINGS = ".,;:!?…—–" + CLOSERS
_DASHES = "-–—"
_WIDE_ENDS = WIDE_SENTENCE_ENDS + WIDE_PHRASE_ENDS


@dataclass(frozen=True)
class _Parts:
    """A word, taken apart: white space, punctuation before, the word itself, punctuation behind."""

    space: str
    before: str
    core: str
    behind: str

    @classmethod
    def of(cls, text: str) -> "_Parts":
        stripped = text.lstrip()
        core = stripped.lstrip(OPENERS)
        bare = core.rstrip(_ENDINGS)
        return cls(
            text[: len(text) - len(stripped)],
            stripped[: len(stripped) - len(core)],
            bare,
            core[len(bare) :],
        )

    @property
    def is_dotted(self) -> bool:
        return self.behind.startswith(".")

    @property
    def waits(self) -> bool:
        """Whether what follows may change how it is said."""
        if self.is_dotted and read_before_number(f"{self.core}."):
            return True
        if self.is_dotted:
            return read_name(f"{self.core}.") is not None
        return not self.behind and (self.core in MONTHS or self.core[-1:].isdigit())


class Reader:
    """The words of one answer, as they are said.

    Args:
        english: read numbers, abbreviations and addresses as English; else they stay as they are.
    """

    def __init__(self, *, english: bool) -> None:
        self._english = english
        self._held: Word | None = None
        self._opens = True  # nothing was said of this sentence

    def feed(self, part: Word | Stop) -> list[Word | Stop]:
        """What can be said for certain, now that `part` has come."""
        if isinstance(part, Stop):
            said = [*self.flush(), part]
            self._opens = True
            return said
        if self._held is None:
            return self._take(part)
        held, self._held = self._held, None
        if joined := _join(_Parts.of(held.text), _Parts.of(part.text)):
            return self._say(joined, part.position)
        return [*self._read(held, ends=False), *self._take(part)]

    def flush(self) -> list[Word | Stop]:
        """The word that waits, if there is one; nothing follows it."""
        held, self._held = self._held, None
        return self._read(held, ends=True) if held else []

    def _take(self, word: Word) -> list[Word | Stop]:
        if self._opens and word.text.strip() in SYMBOLS:
            return []  # a bullet, a quotation
        if self._english and _Parts.of(word.text).waits:
            self._held = word
            return []
        return self._read(word, ends=True)

    def _read(self, word: Word, *, ends: bool) -> list[Word | Stop]:
        """A word by itself; `ends`: its dot, if it has one, is the sentence's."""
        return self._say(_read(word.text, ends=ends) if self._english else word.text, word.position)

    def _say(self, text: str, position: int) -> list[Word | Stop]:
        said = say_word(text)
        if not any(map(str.isalnum, said)):
            said = _rest(text, said)
            if not said or self._opens:
                return []
        elif not self._opens and not is_wide(said.lstrip()[0]):
            said = f" {said.lstrip()}"  # it may have followed a dash
        self._opens = False
        return [Word(said, position)]


def _read(text: str, *, ends: bool) -> str:
    parts = _Parts.of(text)
    if parts.is_dotted and (said := read_name(f"{parts.core}.")):
        behind = parts.behind if ends else parts.behind[1:]
    else:
        said = read_number(parts.core) or read_name(parts.core) or parts.core
        behind = parts.behind
    return f"{parts.space}{parts.before}{said}{_as_rest(behind)}"


def _join(one: _Parts, other: _Parts) -> str:
    """Two words that are said as one; empty if they are not."""
    if other.before:
        return ""
    if one.is_dotted:
        title = read_before_number(f"{one.core}.")
        number = read_number(other.core) if other.core[:1].isdigit() else None
        said = f"{title} {number}" if title and number else ""
    elif day := read_date(one.core, other.core):
        said = f"{one.core} {day}"
    else:
        said = read_with(one.core, other.core) or ""
    return f"{one.space}{one.before}{said}{_as_rest(other.behind)}" if said else ""


def _as_rest(behind: str) -> str:
    """Punctuation behind a word; a voice knows a dash best as a comma."""
    return behind.replace("—", ",").replace("–", ",")


def _rest(text: str, said: str) -> str:
    """What remains of a word without letters: the rest that it stands for."""
    bare = text.strip()
    if bare and not bare.strip(_DASHES + ","):
        return ","
    return said if said and said in _WIDE_ENDS else ""
