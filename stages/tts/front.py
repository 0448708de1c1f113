"""Ids to the words of an answer as they are said, at a cost that is the same for every id."""

from pipeline.tokenizer import Vocabulary
from stages.tts.detokenizer import Detokenizer
from stages.tts.markup import MarkupFilter
from stages.tts.reading import Reader
from stages.tts.thinking import ThinkingFilter
from stages.tts.words import Stop, Word, WordSplitter


class Front:
    """The text side of one answer.

    ids ─▶ text ─▶ without thoughts ─▶ without code and links ─▶ words ─▶ as they are said

    Args:
        vocabulary: of the language model.
        english: how numbers and names are read; see `Reader`.
        thinking: whether thoughts are left out.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, english: bool = True, thinking: bool = True
    ) -> None:
        self._detokenizer = Detokenizer(vocabulary)
        self._thinking = ThinkingFilter() if thinking else None
        self._markup = MarkupFilter()
        self._splitter = WordSplitter()
        self._reader = Reader(english=english)

    def feed(self, id: int, position: int) -> list[Word | Stop]:
        """Words to say and sentence ends that an id makes certain."""
        text = self._detokenizer.feed(id)
        pieces = self._thinking.feed(text, position) if self._thinking else [(text, position)]
        return [said for piece, at in pieces for char in piece for said in self._see(char, at)]

    def flush(self) -> list[Word | Stop]:
        """What is left when the reply has ended."""
        held = self._thinking.flush() if self._thinking else []
        said = [word for char, at in held for word in self._see(char, at)]
        for char, at in self._markup.flush():
            said += self._split(char, at)
        for part in self._splitter.flush():
            said += self._reader.feed(part)
        return [*said, *self._reader.flush()]

    def _see(self, char: str, position: int) -> list[Word | Stop]:
        visible = self._markup.feed(char, position)
        return [said for char, at in visible for said in self._split(char, at)]

    def _split(self, char: str, position: int) -> list[Word | Stop]:
        parts = self._splitter.feed(char, position)
        return [said for part in parts for said in self._reader.feed(part)]
