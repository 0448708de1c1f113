"""Text to the phonemes and ids of a Piper voice.

Rule for what the voice cannot say: a symbol without a phoneme in this voice is skipped, with one
warning per symbol; text of which nothing is left gives no samples.
"""

import logging
from collections.abc import Iterable
from itertools import chain
from typing import Any

_LOG = logging.getLogger(__name__)
BLANK = " "  # the phoneme between two words
_OPENING, _PAD, _CLOSING = "^", "_", "$"


class Speller:
    """Shared by all lanes.

    Args:
        voice: a `piper.PiperVoice`; its session is not used.
    """

    def __init__(self, voice: Any) -> None:
        self._voice = voice
        self._ids = usable_ids(voice.config)
        self._warned: set[str] = set()

    @property
    def spells_by_phoneme(self) -> bool:
        """Whether the ids of a sentence are those of its phonemes, one after the other."""
        is_whole = {_OPENING, _PAD, _CLOSING} <= self._ids.keys()
        return is_whole and self._voice.config.phoneme_type.value in ("espeak", "text")

    def sentences(self, text: str) -> list[list[str]]:
        """Phonemes that the voice can say, by sentence as espeak-ng sees them."""
        return [self._known(phonemes) for phonemes in self._voice.phonemize(text)]

    def phonemes(self, text: str) -> list[str]:
        """The same of one sentence, or its beginning, whatever espeak-ng takes it for."""
        phonemes: list[str] = []
        for sentence in self.sentences(text):
            if phonemes and phonemes[-1] != BLANK:
                phonemes.append(BLANK)
            phonemes += sentence
        while phonemes and phonemes[-1] == BLANK:
            phonemes.pop()  # espeak-ng adds one to a comma
        return phonemes

    def ids(self, phonemes: list[str]) -> list[int]:
        """Ids of a whole sentence, as Piper makes them."""
        ids: list[int] = self._voice.phonemes_to_ids(phonemes)
        return ids

    def encode(self, groups: list[list[str]]) -> tuple[list[int], list[int]]:
        """The same of a sentence in groups of phonemes; and how many ids the first n groups take.

        The second list begins with those of no group.
        """
        ids = [*self._ids[_OPENING], *self._ids[_PAD]]
        ends = [len(ids)]
        for group in groups:
            ids += chain(*((*self._ids[phoneme], *self._ids[_PAD]) for phoneme in group))
            ends.append(len(ids))
        return [*ids, *self._ids[_CLOSING]], ends

    def _known(self, phonemes: Iterable[str]) -> list[str]:
        known = []
        for phoneme in phonemes:
            if phoneme in self._ids:
                known.append(phoneme)
            elif phoneme not in self._warned:
                self._warned.add(phoneme)
                _LOG.warning("the voice has no sound for %r: it is skipped", phoneme)
        return known


def is_sayable(phonemes: Iterable[str]) -> bool:
    """Whether anything but punctuation is among them."""
    return any(map(str.isalnum, phonemes))


def usable_ids(config: Any) -> dict[str, tuple[int, ...]]:
    """Ids of phonemes that all lie in the voice's table; others would abort inside the graph."""
    return {
        phoneme: tuple(ids)
        for phoneme, ids in config.phoneme_id_map.items()
        if all(0 <= id < config.num_symbols for id in ids)
    }
