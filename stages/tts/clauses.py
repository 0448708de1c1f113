"""Words of an answer in clauses, for a voice that synthesises whole stretches of text.

A clause is what the voice synthesises at once. The first one decides how soon an answer is heard,
so it may end at the first comma or after a few words; each later one may be twice as long as the
one before, because the sound of that one buys the time.
"""

from dataclasses import dataclass

from stages.tts.boundaries import Ending, ends_phrase, is_wide
from stages.tts.words import Stop, Word


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A new phrase begins before these, so that a forced cut there is heard least.
_PHRASE_STARTS = _words(
    "and although as because but if or since so than that though unless until when where which "
    "while who"
)
# These lean on the next word: a cut after them is heard most.
_LEANING = _words(
    "a about an and are as at because been but by can for from has have his her if in into is its "
    "my of on or our than that the their this to very was were which who will with your"
)


@dataclass(frozen=True)
class Clause:
    """A stretch of the reply.

    `position` is that of the last id whose text lies wholly within this or earlier clauses.
    """

    text: str
    position: int
    ending: Ending


@dataclass(frozen=True)
class ClauseRules:
    """How long clauses may be. Two characters of Chinese or Japanese count as a word.

    Five first words is where Piper (joe, medium) still speaks as long (ratio 1.04) and as clearly
    (no more recognition errors) as in whole sentences; four gain a word's time but stretch it by
    1.06, and at three the errors double. Ids every 60 ms on half a core then leave no gap.

    Attributes:
        first_words: the first clause is cut after this many words; 0: only at punctuation.
        first_minimum: fewest words before a comma, or a forced cut, ends the first clause.
        minimum: the same for later clauses.
        maximum: most words in any clause.
        longest: most characters in any clause; a longer word is a clause of its own.
    """

    first_words: int = 5
    first_minimum: int = 3
    minimum: int = 6
    maximum: int = 24
    longest: int = 200

    def limits(self, spoken: int) -> tuple[int, int]:
        """Fewest and most words of the next clause, after `spoken` clauses."""
        least = self.minimum if spoken else self.first_minimum
        if not self.first_words:
            return least, self.maximum
        return least, min(self.maximum, self.first_words << min(spoken, 16))


class ClauseSplitter:
    """Gathers the words of one answer."""

    def __init__(self, rules: ClauseRules) -> None:
        self._rules = rules
        self._words: list[Word] = []
        self._spoken = 0

    def feed(self, part: Word | Stop) -> list[Clause]:
        """Clauses that are certain, now that `part` has come."""
        if isinstance(part, Stop):
            return self._take(len(self._words), part.ending)
        self._words.append(part)
        least, most = self._rules.limits(self._spoken)
        count = count_words(self._words)
        if ends_phrase(part.text) and count >= least:
            return self._take(len(self._words), Ending.PHRASE)
        is_long = sum(len(word.text) for word in self._words) >= self._rules.longest
        return self._take(self._cut(least), Ending.WORD) if count >= most or is_long else []

    def _cut(self, least: int) -> int:
        """How many words to take so that the cut is heard least."""
        words = [word.text.strip().lower() for word in self._words]
        far = [n for n in range(1, len(words) + 1) if count_words(self._words[:n]) >= least]
        starts = [n for n in far if n < len(words) and words[n] in _PHRASE_STARTS]
        firm = [n for n in far if words[n - 1] not in _LEANING and not words[n - 1][-1:].isdigit()]
        return max(starts or firm, default=len(words))

    def _take(self, count: int, ending: Ending) -> list[Clause]:
        taken, self._words = self._words[:count], self._words[count:]
        if not taken:
            return []
        self._spoken += 1
        text = "".join(word.text for word in taken).lstrip()
        return [Clause(text, taken[-1].position, ending)]


def count_words(words: list[Word]) -> float:
    """Words that hold a letter or digit; a wide character is half a word."""
    return sum(_weight(word.text) for word in words)


def _weight(text: str) -> float:
    return sum(map(is_wide, text)) / 2 or any(map(str.isalnum, text))
