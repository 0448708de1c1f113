"""Text that grows in pieces, as words and sentence ends, each told as soon as it is certain.

Every decision looks only at characters that are known, one at a time, so that the words do not
depend on how the text was split into pieces, their joined text is the text, and a character costs
the same whatever came before.
"""

from dataclasses import dataclass

from stages.tts.boundaries import (
    WIDE_PHRASE_ENDS,
    WIDE_SENTENCE_ENDS,
    Ending,
    dot_ends,
    ends_at_space,
    ends_phrase,
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
        self._count = 0  # words of this sentence
        self._doubtful = ""  # the word before, if what follows decides whether its dot is the end

    def feed(self, text: str, position: int) -> list[Word | Stop]:
        """What is certain, now that the id at `position` has completed `text`."""
        found: list[Word | Stop] = []
        for char in text:
            found += self._before(char, position)
            self._text += char
            self._position = position
            self._is_empty = self._is_empty and char.isspace()
            self._wide += is_wide(char)
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
            if dot_ends(self._doubtful, char, opens=self._count == 1):
                found += self._stop(Ending.SENTENCE)
            self._doubtful = ""
        return [*found, *self._close(position)] if self._is_cut_before(char) else found

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
        # The rest of an id that goes on behind the word is still to be voiced.
        last = self._position - (self._position == following > 0)
        word = Word(self._text, last)
        self._text, self._is_empty, self._wide = "", True, 0
        self._count += 1
        is_long = self._count >= LONG_SENTENCE and ends_phrase(word.text)
        if is_long or self._count >= LONGEST_SENTENCE:
            return [word, *self._stop(Ending.WORD)]
        return [word]

    def _stop(self, ending: Ending) -> list[Word | Stop]:
        self._doubtful = ""
        if not self._count:
            return []
        self._count = 0
        return [Stop(ending)]
