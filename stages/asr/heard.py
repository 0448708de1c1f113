"""What `asr` has said of a turn, and what still waits for room in the ring."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from ringbuf import Kind, TokenRing
from stages.asr.bridge import Ids


@dataclass(slots=True)
class _Slots:
    """A run of ids, or one slot of another kind where `kind` says so."""

    ids: Ids
    position: int
    turn: int
    answer: int
    kind: Kind = Kind.ID


class Heard:
    """Writes the user's words to `heard` by position, so that only what changed is written.

    Nothing blocks: what finds no room waits here, in order, and `flush` tries again.

    Attributes:
        ids: what the reader holds of this turn once everything is flushed, int32 [n].
    """

    def __init__(self, ring: TokenRing) -> None:
        self._ring = ring
        self._waiting: deque[_Slots] = deque()
        self.ids: Ids = np.empty(0, np.int32)

    def new_turn(self) -> None:
        """Begin at position 0 again."""
        self.ids = np.empty(0, np.int32)

    def revise(self, ids: Ids, turn: int, answer: int) -> tuple[int, Ids]:
        """Say that the turn's words are `ids` now; give the position and the ids that differ."""
        position, tail = revision(self.ids, ids)
        if len(tail):
            self._waiting.append(_Slots(tail, position, turn, answer))
        self.ids = ids
        return position, tail

    def mark(self, kind: Kind, turn: int, answer: int) -> None:
        """Say END, EMPTY, FAILED or RESUME; its position is the number of ids that count."""
        self._waiting.append(_Slots(np.zeros(1, np.int32), len(self.ids), turn, answer, kind))

    def flush(self) -> bool:
        """Write what there is room for; True when nothing waits."""
        with self._ring.together():
            while self._waiting and self._write(self._waiting[0]):
                self._waiting.popleft()
        return not self._waiting

    def clear(self) -> None:
        """Forget what waits; the ids that count are then those before it."""
        if self._waiting:
            self.ids = self.ids[: self._waiting[0].position]
        self._waiting.clear()

    def _write(self, slots: _Slots) -> bool:
        where = {"position": slots.position, "turn": slots.turn, "answer": slots.answer}
        if slots.kind is not Kind.ID:
            return self._ring.put(0, kind=slots.kind, **where)
        written = self._ring.put_run(slots.ids, **where)
        slots.ids = slots.ids[written:]
        slots.position += written
        return not len(slots.ids)


def revision(old: Ids, new: Ids) -> tuple[int, Ids]:
    """Give the position from which `new` differs from `old`, and `new` from there on.

    The tail is empty where `new` is a shorter `old`: its end is then said by a slot's position.
    """
    common = min(len(old), len(new))
    differs = np.flatnonzero(old[:common] != new[:common])
    position = int(differs[0]) if differs.size else common
    return position, new[position:]
