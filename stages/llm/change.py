"""What is new of a conversation since it was last kept."""

import struct
from dataclasses import dataclass
from typing import Self

import numpy as np

_NONE = -1
_NUMBERS = struct.Struct("<qqIIIII")


@dataclass(frozen=True)
class Change:
    """The numbers of a conversation, and its ids from the first on that differ.

    Changes applied in order to an empty conversation make it again.

    Attributes:
        turn, answer: uint32, or none.
        base, end: of the words of the turn.
        reply: where the answer begins.
        same: how many ids are as the change before left them; 0: this is all there is.
        starts: where turns begin, those from `same` on.
        ids: those from `same` on, int32.
    """

    turn: int | None
    answer: int | None
    base: int
    end: int
    reply: int
    same: int
    starts: list[int]
    ids: list[int]

    @property
    def numbers(self) -> tuple[int | None, ...]:
        """What differs besides ids: two changes without ids and with equal numbers are one."""
        return (self.turn, self.answer, self.base, self.end, self.reply, self.same + len(self.ids))

    def pack(self) -> bytes:
        """As bytes: 36 and 4 for each id and start."""
        numbers = _NUMBERS.pack(
            _NONE if self.turn is None else self.turn,
            _NONE if self.answer is None else self.answer,
            self.base,
            self.end,
            self.reply,
            self.same,
            len(self.starts),
        )
        return numbers + np.array([*self.starts, *self.ids], "<i4").tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The inverse of `pack`."""
        turn, answer, base, end, reply, same, starts = _NUMBERS.unpack_from(data)
        rest = np.frombuffer(data, "<i4", offset=_NUMBERS.size).tolist()
        return cls(
            None if turn == _NONE else turn,
            None if answer == _NONE else answer,
            base,
            end,
            reply,
            same,
            rest[:starts],
            rest[starts:],
        )
