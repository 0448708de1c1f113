"""Ids to the words of an answer as they are said, in constant time for each id."""

from collections.abc import Iterable

from pipeline.tokenizer import Vocabulary
from stages.tts.detokenizer import Detokenizer
from stages.tts.speakable import say_word
from stages.tts.thinking import ThinkingFilter
from stages.tts.words import Stop, Word, WordSplitter


class Front:
    """The text side of one answer.

    Args:
        vocabulary: of the language model.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._detokenizer = Detokenizer(vocabulary)
        self._thinking = ThinkingFilter()
        self._splitter = WordSplitter()

    def feed(self, id: int, position: int) -> list[Word | Stop]:
        """Words to say and sentence ends that an id makes certain."""
        return self._split(self._thinking.feed(self._detokenizer.feed(id), position))

    def flush(self) -> list[Word | Stop]:
        """What is left when the reply has ended."""
        return [*self._split(self._thinking.flush()), *_spoken(self._splitter.flush())]

    def _split(self, pieces: Iterable[tuple[str, int]]) -> list[Word | Stop]:
        parts: list[Word | Stop] = []
        for text, position in pieces:
            parts += self._splitter.feed(text, position)
        return _spoken(parts)


def _spoken(parts: Iterable[Word | Stop]) -> list[Word | Stop]:
    """The same in what is said; words of which nothing is said are left out."""
    said = [Word(say_word(p.text), p.position) if isinstance(p, Word) else p for p in parts]
    return [part for part in said if isinstance(part, Stop) or part.text]
