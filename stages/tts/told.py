"""An answer that is told as text: one stretch without sound for each id."""

from collections import deque

import numpy as np

from stages.tts.utterance import Sound

_RATE = 24_000  # of no samples


class ToldUtterance:
    """Says nothing, so that the edge knows how far the answer was told."""

    rate = _RATE
    due: int | None = None

    def __init__(self) -> None:
        self._positions: deque[int] = deque()

    @property
    def is_ready(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self._positions)

    def feed(self, id: int, position: int) -> None:
        """The next id of the reply."""
        self._positions.append(position)

    def end(self, *, complete: bool) -> None:
        """Every id is whole by itself."""

    def more(self) -> Sound | None:
        """No sound, up to the newest id."""
        if not self._positions:
            return None
        position = self._positions.pop()
        self._positions.clear()
        return Sound(np.empty(0, np.int16), position)
