"""An answer spoken clause by clause, by any voice that turns text into sound."""

from collections import deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stages.tts.clauses import Clause, ClauseRules, ClauseSplitter
from stages.tts.front import Front
from stages.tts.sound import Rests
from stages.tts.utterance import Sound
from stages.tts.words import Stop, Word


class TextVoice(Protocol):
    """A voice without state between clauses.

    Attributes:
        rate: samples a second.
    """

    rate: int

    def synthesise(self, text: str) -> NDArray[np.int16]:
        """Sound of one clause, without silence around it; empty if it cannot be said."""


class ClausewiseUtterance:
    """Ids to words to clauses to sound.

    Args:
        front: the text side of this answer.
        voice: shared by all lanes.
        rules: how long clauses may be.
        rests: how long the voice rests after each.
    """

    def __init__(self, front: Front, voice: TextVoice, rules: ClauseRules, rests: Rests) -> None:
        self.rate = voice.rate
        self.due: int | None = None
        self._front = front
        self._voice = voice
        self._rests = rests
        self._splitter = ClauseSplitter(rules)
        self._clauses: deque[Clause] = deque()
        self._rest: Sound | None = None
        self._ended = False

    def feed(self, id: int, position: int) -> None:
        """The next id of the reply."""
        self._split(self._front.feed(id, position))

    def end(self, *, complete: bool) -> None:
        """Say what is left; of an incomplete reply only whole clauses."""
        self._ended = True
        if complete:
            self._split(self._front.flush())

    def more(self) -> Sound | None:
        """The next clause, or the rest after it."""
        if self._rest:
            rest, self._rest = self._rest, None
            return rest
        while self._clauses:
            clause = self._clauses.popleft()
            samples = self._voice.synthesise(clause.text)
            if len(samples):
                self._rest = self._rest_after(clause)
                return Sound(samples, clause.position)
        return None

    def _rest_after(self, clause: Clause) -> Sound | None:
        silence = self._rests.after(clause.ending, self.rate)
        is_last = self._ended and not self._clauses
        return None if is_last or not len(silence) else Sound(silence, clause.position)

    def _split(self, parts: list[Word | Stop]) -> None:
        for part in parts:
            self._clauses.extend(self._splitter.feed(part))
