"""What is new of a conversation since it was last kept."""

import struct
from dataclasses import dataclass
from typing import Self

import numpy as np

from stages.llm.part import Part, Source

_NONE = -1
_NUMBERS = struct.Struct("<qqIIIIII")
_COLUMNS = 4  # of a part


@dataclass(frozen=True)
class Change:
    """The numbers of a conversation, and its ids and parts from the first on that differ.

    Changes applied in order to an empty conversation make it again.

    Attributes:
        turn, answer: uint32, or none.
        base, end: of the words of the turn.
        reply: where the answer begins.
        same: how many ids are as the change before left them; 0: this is all there is.
        kept: how many parts are.
        parts: those behind them.
        ids: those from `same` on, int32.
    """

    turn: int | None
    answer: int | None
    base: int
    end: int
    reply: int
    same: int
    kept: int
    parts: list[Part]
    ids: list[int]

    @property
    def numbers(self) -> tuple[int | None, ...]:
        """What differs besides ids: two changes without ids and with equal numbers are one."""
        parts = self.kept + len(self.parts)
        count = self.same + len(self.ids)
        return (self.turn, self.answer, self.base, self.end, self.reply, count, parts)

    def pack(self) -> bytes:
        """As bytes: 40, 16 for each part and 4 for each id."""
        numbers = _NUMBERS.pack(
            _NONE if self.turn is None else self.turn,
            _NONE if self.answer is None else self.answer,
            self.base,
            self.end,
            self.reply,
            self.same,
            self.kept,
            len(self.parts),
        )
        parts = np.array([(p.source, p.number, p.start, p.end) for p in self.parts], "<u4")
        return numbers + parts.tobytes() + np.array(self.ids, "<i4").tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The inverse of `pack`."""
        turn, answer, base, end, reply, same, kept, count = _NUMBERS.unpack_from(data)
        columns = np.frombuffer(data, "<u4", count * _COLUMNS, _NUMBERS.size)
        rows = columns.reshape(-1, _COLUMNS).tolist()
        return cls(
            None if turn == _NONE else turn,
            None if answer == _NONE else answer,
            base,
            end,
            reply,
            same,
            kept,
            [Part(Source(source), *rest) for source, *rest in rows],
            np.frombuffer(data, "<i4", offset=_NUMBERS.size + columns.nbytes).tolist(),
        )
