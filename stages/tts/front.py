"""Ids to the words of an answer as they are said, at a cost that is the same for every id."""

from pipeline.tokenizer import Vocabulary
from stages.tts.detokenizer import Detokenizer
from stages.tts.markup import MarkupFilter
from stages.tts.reading import Reader
from stages.tts.words import Stop, Word, WordSplitter


class Front:
    """The text side of one answer.

    ids ─▶ text ─▶ without thoughts, code and links ─▶ words ─▶ as they are said

    Args:
        vocabulary: of the language model.
        english: how numbers and names are read; see `Reader`.
        thinking: whether thoughts are left out.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, english: bool = True, thinking: bool = True
    ) -> None:
        self._detokenizer = Detokenizer(vocabulary)
        self._markup = MarkupFilter(thinking=thinking)
        self._splitter = WordSplitter()
        self._reader = Reader(english=english)

    def feed(self, id: int, position: int) -> list[Word | Stop]:
        """Words to say and sentence ends that an id makes certain."""
        said: list[Word | Stop] = []
        for char in self._detokenizer.feed(id):
            said += self._say(self._markup.feed(char, position))
        return said

    def flush(self) -> list[Word | Stop]:
        """What is left when the reply has ended."""
        said = self._say(self._markup.flush())
        for part in self._splitter.flush():
            said += self._reader.feed(part)
        return [*said, *self._reader.flush()]

    def _say(self, shown: list[tuple[str, int]]) -> list[Word | Stop]:
        said: list[Word | Stop] = []
        for char, position in shown:
            for part in self._splitter.feed(char, position):
                said += self._reader.feed(part)
        return said
