"""What people say only to show that they listen."""

import re
from collections.abc import Iterable, Sequence

_NO_WORD = re.compile(r"[^\w]+")
_DRAWN_OUT = re.compile(r"(\w)\1{2,}")  # "mmm", as recognisers write it


class Backchannels:
    """Tells "uh-huh" from an interruption.

    Args:
        phrases: words that mean "go on"; case, hyphens and punctuation do not matter.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = {tuple(_plain(phrase)) for phrase in phrases} - {()}
        self._longest = max(map(len, self._phrases), default=0)

    def match(self, words: Sequence[str]) -> bool:
        """Whether these words are nothing but such phrases, one after the other."""
        plain = [part for word in words for part in _plain(word)]
        while plain:
            lengths = range(min(self._longest, len(plain)), 0, -1)
            length = next((n for n in lengths if tuple(plain[:n]) in self._phrases), 0)
            if not length:
                return False
            del plain[:length]
        return True


def _plain(text: str) -> list[str]:
    """Lower-case words without punctuation, none drawn out: "Uh-huh." is two."""
    words = _NO_WORD.sub(" ", text.casefold().replace("'", ""))
    return _DRAWN_OUT.sub(r"\1\1", words).split()
