"""An answer spoken clause by clause, by any voice that turns text into sound."""

from collections import deque
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stages.tts.clauses import Clause, ClauseRules, ClauseSplitter
from stages.tts.front import Front
from stages.tts.sound import Rests
from stages.tts.utterance import Sound
from stages.tts.words import Stop, Word

Piece = tuple[NDArray[np.int16], bool]
"""Samples, and whether the clause ends with them."""


class TextVoice(Protocol):
    """A voice without state between clauses.

    Attributes:
        rate: samples a second.
    """

    rate: int

    def pieces(self, text: str) -> Iterator[Piece]:
        """Sound of one clause in one or several pieces, without silence around it.

        None at all if it cannot be said; else exactly the last one says that it is.
        """


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
        self._pieces: Iterator[Piece] | None = None  # what is left of the first of them
        self._voiced = -1
        self._rest: Sound | None = None
        self._ended = False

    @property
    def is_ready(self) -> bool:
        """Whether a clause is whole, or the rest after one is due."""
        return bool(self._clauses or self._rest)

    def feed(self, id: int, position: int) -> None:
        """The next id of the reply."""
        self._split(self._front.feed(id, position))

    def end(self, *, complete: bool) -> None:
        """Say what is left; of an incomplete reply only whole clauses."""
        self._ended = True
        if complete:
            self._split(self._front.flush())

    def more(self) -> Sound | None:
        """The next piece of a clause, or the rest after it."""
        if self._rest:
            rest, self._rest = self._rest, None
            return rest
        while self._clauses:
            clause = self._clauses[0]
            self._pieces = self._pieces or self._voice.pieces(clause.text)
            if piece := next(self._pieces, None):
                return self._say(clause, *piece)
            self._next()
        return None

    def _say(self, clause: Clause, samples: NDArray[np.int16], is_last: bool) -> Sound:
        if is_last:
            self._voiced = clause.position
            self._next()
            self._rest = self._rest_after(clause)
        return Sound(samples, self._voiced)

    def _next(self) -> None:
        self._pieces = None
        self._clauses.popleft()

    def _rest_after(self, clause: Clause) -> Sound | None:
        silence = self._rests.after(clause.ending, self.rate)
        is_last = self._ended and not self._clauses
        return None if is_last or not len(silence) else Sound(silence, clause.position)

    def _split(self, parts: list[Word | Stop]) -> None:
        for part in parts:
            self._clauses.extend(self._splitter.feed(part))
