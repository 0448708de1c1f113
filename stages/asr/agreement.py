"""Which words of growing speech may be believed: pure, driven by one decode after another."""

from collections import deque
from itertools import takewhile

from stages.asr.transcript import Words, bare


class Agreement:
    """Commits the words that several decodes in a row agree on, but for the newest one's last.

    The last word of a decode is the one that sound may still change. Case and punctuation are no
    disagreement: committed words keep the form in which they were written, because each change
    costs the language model a rollback. Only the end of an utterance is written as the decode of
    the whole has it, and again if it was not the end. Source: LocalAgreement (Macháček et al. 2023,
    "Turning Whisper into Real-Time Transcription System").

    Args:
        decodes: how many must agree; 1 believes each.

    Attributes:
        committed: words that were given out.
    """

    def __init__(self, decodes: int = 2) -> None:
        self._before: deque[Words] = deque(maxlen=decodes - 1)
        self.clear()

    def clear(self) -> None:
        """Begin a new turn."""
        self.committed: Words = ()
        self._end = 0  # words up to the end of an utterance that may go on
        self._before.clear()

    def offer(self, words: Words) -> Words:
        """Hear a decode of speech that goes on; give what is committed now."""
        enough = len(self._before) == self._before.maxlen
        agreed = min((agree(words, other) for other in self._before), default=len(words))
        self._before.append(words)
        agreed = min(agreed, len(words) - 1)
        if enough and agreed > len(self.committed):
            self._commit(words[:agreed], self._end)
        return self.committed

    def settle(self, words: Words) -> Words:
        """Hear the decode of the whole utterance, which has the last word; give what holds now."""
        self._before.append(words)
        self._commit(words, self._end)
        self._end = len(words)
        self._commit(words, self._end)
        return self.committed

    def _commit(self, words: Words, end: int) -> None:
        """Write these words; those that are written already keep their form, but for the end's."""
        kept = agree(self.committed, words)
        forms = [*self.committed[:kept], *words[kept:]]
        if 0 < end <= len(words):
            forms[end - 1] = words[end - 1]
        self.committed = tuple(forms)


def agree(one: Words, other: Words) -> int:
    """How many words two decodes have in common from the first on."""
    same = zip(map(bare, one), map(bare, other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], same))
