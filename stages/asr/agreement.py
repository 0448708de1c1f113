"""Which words of growing speech may be believed: pure, driven by one decode after another."""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile

from stages.asr.transcript import Words, bare


class Agreement:
    """Commits the words that several decodes in a row agree on, but for the newest one's last.

    The last word of a decode is the one that sound may still change. A committed word that decodes
    begin to doubt neither holds up those behind it nor is written again while speech goes on: some
    sounds make two words in turn. Only where decodes have lost the place (one of the last two words
    must be where it was) and one more than usual agree, they win. Case and punctuation are no
    disagreement: committed words keep the form in which they were written, because each change
    costs the language model a rollback. The end of an utterance is written as the decode of the
    whole has it, and again if it was not the end. Source: LocalAgreement (Macháček et al. 2023,
    "Turning Whisper into Real-Time Transcription System").

    Args:
        decodes: how many must agree; 1 believes each.

    Attributes:
        committed: words that were given out.
    """

    def __init__(self, decodes: int = 2) -> None:
        self._needed = decodes
        self._decodes: deque[Words] = deque(maxlen=decodes + 1)  # newest first; one more to correct
        self.clear()

    def clear(self) -> None:
        """Begin a new turn."""
        self.committed: Words = ()
        self._end = 0  # words up to the end of an utterance that may go on
        self._decodes.clear()

    def offer(self, words: Words) -> Words:
        """Hear a decode of speech that goes on; give what is committed now."""
        if len(words) < len(self.committed):
            return self.committed  # it broke off: the decoder does that now and then
        self._decodes.appendleft(words)
        newest = list(self._decodes)[: self._needed]
        if len(newest) < self._needed:
            return self.committed
        if all(map(self._follows, newest)):
            self._extend(newest)
        elif _agreed(self._decodes) >= len(self.committed):
            self._commit(words[: _agreed(newest)])
        return self.committed

    def settle(self, words: Words) -> Words:
        """Hear the decode of the whole utterance, which has the last word; give what holds now."""
        if not self._decodes or self._decodes[0] != words:  # it may have been offered at the pause
            self._decodes.appendleft(words)
        self._commit(words)
        self._end = len(words)
        self.committed = (*self.committed[:-1], *words[-1:])
        return self.committed

    def _follows(self, words: Words) -> bool:
        """Whether a decode goes on behind what is committed, though it may doubt a word of it."""
        last = slice(max(0, len(self.committed) - 2), len(self.committed))
        return (
            agree(words[last][-1:], self.committed[-1:]) > 0
            or agree(words[last], self.committed[last]) > 0
        )

    def _extend(self, decodes: Sequence[Words]) -> None:
        """Commit what the decodes have in common behind what is committed."""
        written = len(self.committed)
        tails = [decode[written:] for decode in decodes]
        last = decodes[0][written - 1 : written]
        same = agree(last, self.committed[-1:])
        ours = self.committed[: written - same] + last[:same]  # its punctuation may have changed
        self._commit(ours + tails[0][: _agreed(tails)])

    def _commit(self, words: Words) -> None:
        """Write these words; those that are written already keep their form."""
        kept = agree(self.committed, words)
        if 0 < self._end < len(words):  # that end was none: once, it is written again
            kept, self._end = min(kept, self._end - 1), 0
        self.committed = self.committed[:kept] + words[kept:]


def _agreed(decodes: Iterable[Words]) -> int:
    """How many words all have in common, but for the last of the newest, which comes first."""
    newest, *others = decodes
    return max(0, min([len(newest) - 1, *(agree(newest, other) for other in others)]))


def agree(one: Words, other: Words) -> int:
    """How many words two decodes have in common from the first on."""
    same = zip(map(bare, one), map(bare, other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], same))
