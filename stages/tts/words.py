"""Text that grows in pieces, as words and sentence ends, each told as soon as it is certain.

Every decision looks only at characters that are known, one at a time, so that the words do not
depend on how the text was split into pieces, their joined text is the text, and a character costs
the same whatever came before.
"""

from dataclasses import dataclass

from stages.tts.abbreviations import dot_ends, opens_sentence
from stages.tts.boundaries import (
    WIDE_PHRASE_ENDS,
    WIDE_SENTENCE_ENDS,
    Ending,
    bare,
    ends_at_space,
    ends_phrase,
    ends_without_space,
    is_wide,
    may_end_at,
)

WIDE_WORD = 2  # characters of Chinese or Japanese that count as a word
LONGEST_WORD = 60  # characters; an endless word is cut
LONG_SENTENCE = 40  # words; a longer one may end at a comma
LONGEST_SENTENCE = 60


@dataclass(frozen=True)
class Word:
    """A word with what stands around it: white space before, punctuation on both sides.

    Attributes:
        position: of the last id whose text lies wholly within this or earlier words.
    """

    text: str
    position: int


@dataclass(frozen=True)
class Stop:
    """A sentence ends here; `ending` is WORD if only because it is too long."""

    ending: Ending


class WordSplitter:
    """Cuts the text of one answer."""

    def __init__(self) -> None:
        self._text = ""  # of the word so far
        self._is_empty = True  # it is white space
        self._wide = 0  # how many wide characters it has
        self._position = 0  # of the id that completed its last character
        self._letter = ""  # the last letter or digit
        self._count = 0  # words of this sentence
        self._names = ("", "")  # the last two of them, but for its first
        self._doubtful = ""  # the word before, if what follows decides whether its dot is the end
        self._is_undecided = False  # it takes the whole of the next word to decide

    def feed(self, text: str, position: int) -> list[Word | Stop]:
        """What is certain, now that the id at `position` has completed `text`."""
        found: list[Word | Stop] = []
        for char in text:
            found += self._before(char, position)
            self._text += char
            self._position = position
            self._is_empty = self._is_empty and char.isspace()
            self._wide += is_wide(char)
            self._letter = char if char.isalnum() else self._letter
            found += self._after(char)
        return found

    def flush(self) -> list[Word | Stop]:
        """What is left when the reply has ended."""
        return [*self._close(self._position + 1), *self._stop(Ending.SENTENCE)]

    def _before(self, char: str, position: int) -> list[Word | Stop]:
        """What a character shows to have ended before it."""
        found: list[Word | Stop] = []
        if char.isspace():
            if not self._is_empty:
                word = self._text
                found += self._close(position)
                self._doubtful = word if may_end_at(word) else ""
                if ends_at_space(word):
                    found += self._stop(Ending.SENTENCE)
            if char == "\n":
                found += self._stop(Ending.SENTENCE)
            return found
        if self._doubtful:
            found += self._decide(char)
        if ends_without_space(self._text, self._letter, char):
            return [*found, *self._close(position), *self._stop(Ending.SENTENCE)]
        return [*found, *self._close(position)] if self._is_cut_before(char) else found

    def _decide(self, following: str) -> list[Word | Stop]:
        """Whether the dot of the word before is the end, as far as one more character tells."""
        core = bare(self._doubtful).removesuffix(".")
        ends = dot_ends(core, following, before=self._names[0], opens=self._count == 1)
        self._doubtful, self._is_undecided = "", ends is None
        return self._stop(Ending.SENTENCE) if ends else []

    def _is_cut_before(self, char: str) -> bool:
        """Whether a word ends before a character though there is no space."""
        if self._is_empty or not char.isalnum():
            return False
        if is_wide(char):
            return self._wide == 0
        return self._wide > 0 or self._text.endswith("—")

    def _after(self, char: str) -> list[Word | Stop]:
        """What ends with a character."""
        if char in WIDE_SENTENCE_ENDS:
            return [*self._close(self._position + 1), *self._stop(Ending.SENTENCE)]
        is_full = self._wide >= WIDE_WORD or len(self._text) >= LONGEST_WORD
        if char in ",;" and self._text[-2:-1].isalpha():
            is_full = True  # a comma behind a digit may be inside a number
        return self._close(self._position + 1) if is_full or char in WIDE_PHRASE_ENDS else []

    def _close(self, following: int) -> list[Word | Stop]:
        """End the word; `following` is the position of the id that the next character is of."""
        if not self._text:
            return []
        found: list[Word | Stop] = []
        if self._is_undecided and opens_sentence(self._text):
            found += self._stop(Ending.SENTENCE)
        self._is_undecided = False
        # The rest of an id that goes on behind the word is still to be voiced.
        last = self._position - (self._position == following > 0)
        word = Word(self._text, last)
        self._text, self._is_empty, self._wide = "", True, 0
        self._count += 1
        self._names = (self._names[1], bare(word.text) if self._count > 1 else "")
        is_long = self._count >= LONG_SENTENCE and ends_phrase(word.text)
        if is_long or self._count >= LONGEST_SENTENCE:
            return [*found, word, *self._stop(Ending.WORD)]
        return [*found, word]

    def _stop(self, ending: Ending) -> list[Word | Stop]:
        self._doubtful, self._is_undecided = "", False
        if not self._count:
            return []
        self._count, self._names = 0, ("", "")
        return [Stop(ending)]
