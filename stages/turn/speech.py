"""The writing end of `speech`: in order, and nothing lost when the ring is full."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringbuf import AudioRing, Mark
from stages.topology import INPUT_RATE


@dataclass(frozen=True, slots=True)
class _Block:
    """What waits for room; see `ringbuf.AudioBlock`."""

    samples: NDArray[np.int16]
    first: int
    turn: int
    answer: int
    mark: Mark


class Speech:
    """Writes blocks to the ring; those that find no room wait here.

    Whoever writes stops reading the microphone while something waits, so that this stays short.

    Args:
        ring: `speech` of one lane; it wakes the lane when there is room again.
    """

    def __init__(self, ring: AudioRing) -> None:
        self._ring = ring
        self._waiting: deque[_Block] = deque()

    def put(
        self,
        samples: NDArray[np.int16],
        *,
        first: int,
        turn: int,
        answer: int,
        mark: Mark = Mark.NONE,
    ) -> None:
        """Write a block, int16 [n]; it is kept as it is, so it must not be a view of a ring."""
        self._waiting.append(_Block(samples, first, turn, answer, mark))
        self.flush()

    def flush(self) -> bool:
        """Write what there is room for; true when nothing waits."""
        while self._waiting and self._write(self._waiting[0]):
            self._waiting.popleft()
        return not self._waiting

    def _write(self, block: _Block) -> bool:
        return self._ring.put(
            block.samples,
            first=block.first,
            rate=INPUT_RATE,
            turn=block.turn,
            answer=block.answer,
            mark=block.mark,
        )
