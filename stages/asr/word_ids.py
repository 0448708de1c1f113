"""Ids of a turn's words while they grow and change: only what changed is encoded again."""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from stages.asr.bridge import Bridge, Ids

_TOGETHER = 32  # words; where they influence each other, how many are encoded together


class WordIds:
    """The ids of one turn's words.

    Where a text may be cut before a space (`Bridge.splits`), each word is encoded once. Elsewhere
    a growing turn is encoded in stretches of 32 words, of which the last is encoded again with each
    new word, and a complete turn in one piece: whatever was said before, its ids are those of its
    text.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self.clear()

    def clear(self) -> None:
        """Begin a new turn."""
        self._parts: list[str] = []
        self._ids: list[Ids] = []

    def encode(self, words: Sequence[str], *, complete: bool) -> Ids:
        """Give the ids, int32 [n], of all words of the turn; the first one's space is not said.

        Args:
            words: as `split_words` gives them.
            complete: no word follows, as far as is known.
        """
        parts = self._cut("".join(words).lstrip(), complete)
        pairs = zip(self._parts, parts, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self._ids[same:] = map(self._bridge.encode, parts[same:])
        self._parts = parts
        return np.concatenate(self._ids) if parts else np.empty(0, np.int32)

    def _cut(self, text: str, complete: bool) -> list[str]:
        if not text:
            return []
        if complete and not self._bridge.splits:
            return [text]
        first, *others = text.split(" ")
        words = [first, *(f" {word}" for word in others)]
        size = 1 if self._bridge.splits else _TOGETHER
        return ["".join(words[n : n + size]) for n in range(0, len(words), size)]
