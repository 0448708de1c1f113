"""Ids to text while they arrive: incomplete UTF-8 waits, broken bytes are never heard."""

import codecs

from pipeline.tokenizer import Vocabulary, clean


class Detokenizer:
    """Text of one answer, id by id, at constant cost per id.

    The joined pieces equal `vocabulary.decode(all ids)`; a broken tail is dropped by simply not
    asking for more.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._at_start = vocabulary.strips_space

    def feed(self, id: int) -> str:
        """Text that this id completes; often a word, empty while a character is incomplete."""
        text = clean(self._decoder.decode(self._vocabulary.spell(id)))
        if self._at_start and text:
            self._at_start = False
            return text.removeprefix(" ")
        return text
