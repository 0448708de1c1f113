"""What people say only to show that they listen."""

import re
from collections.abc import Iterable, Sequence

_NO_WORD = re.compile(r"[^\w]+")
_HUM = re.compile(r"[mhn]+")  # "Mm-hmm", "M.H.N.": no word of any language is spelled so
_DRAWN_OUT = re.compile(r"(\w)\1{2,}")  # "mmm", as recognisers write it

SHORT_S = 1.2
MOST_WORDS = 3  # that are made of a hum; none of 37 gave more, and a damaged question does


class Backchannels:
    """Tells "uh-huh" from an interruption.

    A hum has no spelling, so a recogniser makes words of it ("in them", "and anthem"). It is unsure
    of them, and they are short and few; `benchmarks/murmurs.py` measures how far that tells them
    apart.

    Args:
        phrases: words that mean "go on"; case, hyphens and punctuation do not matter.
        commands: phrases that are meant, however unsure the recogniser is of them.
        unsure_below: mean log probability of an id below which short words may be a hum.
    """

    def __init__(
        self, phrases: Iterable[str], commands: Iterable[str] = (), unsure_below: float = 0.0
    ) -> None:
        self._phrases = {tuple(_plain(phrase)) for phrase in phrases} - {()}
        self._commands = {tuple(_plain(phrase)) for phrase in commands}
        self._longest = max(map(len, self._phrases), default=0)
        self._unsure_below = unsure_below

    def match(self, words: Sequence[str]) -> bool:
        """Whether these words are nothing but such phrases, one after the other."""
        plain = [part for word in words for part in _plain(word)]
        while plain:
            lengths = range(min(self._longest, len(plain)), 0, -1)
            length = next((n for n in lengths if tuple(plain[:n]) in self._phrases), 0)
            if not length and self._longest and _HUM.fullmatch(plain[0]):
                length = 1
            if not length:
                return False
            del plain[:length]
        return True

    def is_hum(self, words: Sequence[str], avg_logprob: float, sound_s: float) -> bool:
        """Whether these words were made of a sound that has none.

        Args:
            avg_logprob: mean log probability of an id of the words.
            sound_s: how long the sound was, with the pre-roll.
        """
        plain = tuple(part for word in words for part in _plain(word))
        is_short = sound_s < SHORT_S and len(plain) <= MOST_WORDS
        is_unsure = avg_logprob < self._unsure_below
        return is_short and is_unsure and bool(self._longest) and plain not in self._commands


def _plain(text: str) -> list[str]:
    """Lower-case words without punctuation, none drawn out: "Uh-huh." is two."""
    words = _NO_WORD.sub(" ", text.casefold().replace("'", ""))
    return _DRAWN_OUT.sub(r"\1\1", words).split()
