"""Sound that is sent before it is to be heard, so that a network may be late: pure.

Blocks stay in the ring until their time has passed (`Playback` drops them); what is kept here is
how much of them was sent. Nothing is sent while the gate is shut, and nothing further ahead of its
time than the lead.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stages.audio.playback import SECOND, Gate, VoiceBlock


class SentBlock(VoiceBlock, Protocol):
    """What is read of a block besides what playback reads."""

    @property
    def first(self) -> int: ...  # noqa: D102
    @property
    def turn(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class Piece:
    """Sound to send.

    Attributes:
        samples: int16 [n], a copy.
        first: index of its first sample in the answer.
        stamp: monotonic ns since when it was there.
        position: ids that are voiced to their end with its last sample.
    """

    samples: NDArray[np.int16]
    rate: int
    turn: int
    answer: int
    first: int
    stamp: int
    position: int


class Ahead:
    """What was sent of the answers of one conversation.

    Args:
        lead_ns: how long before its time sound may be sent.

    Attributes:
        answer: that was sent last; None: none yet.
        sent: samples of it.
    """

    def __init__(self, lead_ns: int) -> None:
        self.answer: int | None = None
        self.sent = 0
        self._lead_ns = lead_ns
        self._blocks = 0
        self._was_told = False
        self._ends: list[int] = []  # samples at the end of each block that was sent
        self._positions: list[int] = []  # ids that are voiced there

    def take(self, gate: Gate, due: int, unread: Iterable[SentBlock]) -> list[Piece]:
        """What is to be sent now.

        Args:
            due: samples of the current answer whose time has passed.
            unread: blocks in the ring, oldest first.
        """
        if gate.answer != gate.released or gate.hold:
            return []
        pieces = []
        for block in unread:
            if block.answer != gate.answer:
                continue
            if (block.first - due) * SECOND >= self._lead_ns * block.rate:
                break
            if block.answer != self.answer:
                self._begin(block.answer)
            if block.first >= self.sent:
                pieces.append(self._send(block))
        return pieces

    def is_whole(self, gate: Gate) -> bool:
        """Whether all of the answer was sent; it is told once."""
        if self._was_told or gate.end.answer != self.answer or self._blocks < gate.end.count:
            return False
        self._was_told = True
        return True

    def position(self, samples: int) -> int:
        """How many ids of the answer are voiced to their end in its first `samples`."""
        index = bisect_right(self._ends, samples)
        return self._positions[index - 1] if index else 0

    def _begin(self, answer: int) -> None:
        self.answer = answer
        self.sent = self._blocks = 0
        self._was_told = False
        self._ends.clear()
        self._positions.clear()

    def _send(self, block: SentBlock) -> Piece:
        samples = np.array(block.samples)
        self.sent = block.first + len(samples)
        self._blocks += 1
        self._ends.append(self.sent)
        self._positions.append(block.position)
        return Piece(
            samples=samples,
            rate=block.rate,
            turn=block.turn,
            answer=block.answer,
            first=block.first,
            stamp=block.stamp,
            position=block.position,
        )
