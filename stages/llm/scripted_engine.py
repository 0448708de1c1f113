"""An engine that says what it was told to say."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import StageError
from stages.llm.pieces import Pieces

# Beyond every vocabulary, so that they can be told from words; none is ever published.
ASK, NEXT, JOIN, STOP = (0x4000_0000 + n for n in range(4))


class ScriptedEngine:
    """The engine contract over a list of replies.

    The n-th answered turn of a conversation gets the n-th reply, and after the last one the first
    again; a turn that is asked again is answered as before.

    Args:
        replies: ids of each reply.
        context: ids that each lane can hold.
        fail_after: raise instead of giving the id with this index of a reply; none: never.
    """

    def __init__(
        self, replies: Sequence[Sequence[int]], context: int, fail_after: int | None = None
    ) -> None:
        self.context = context
        self._replies = replies
        self._fail_after = fail_after
        self._content: dict[int, list[int]] = {}

    def open(self, lane: int) -> None:
        """See `Engine.open`."""
        self._content[lane] = []

    def extend(self, lane: int, ids: NDArray[np.int32], position: int) -> None:
        """See `Engine.extend`."""
        content = self._content[lane]
        if position != len(content):
            raise ValueError(f"ids for position {position} of a lane that holds {len(content)}")
        if position + len(ids) > self.context:
            raise StageError(f"{position + len(ids)} ids do not fit in {self.context}")
        content += ids.tolist()

    def rollback(self, lane: int, position: int) -> None:
        """See `Engine.rollback`."""
        content = self._content[lane]
        if not 0 <= position <= len(content):
            raise ValueError(f"rollback to {position} of a lane that holds {len(content)}")
        del content[position:]

    def step(self, lanes: Sequence[int]) -> list[int]:
        """See `Engine.step`."""
        return [self._step(self._content[lane]) for lane in lanes]

    def temper(self, lane: int, temperature: float | None) -> None:
        """See `Engine.temper`; a script has none."""

    def length(self, lane: int) -> int:
        """See `Engine.length`."""
        return len(self._content[lane])

    def content(self, lane: int) -> list[int]:
        """A copy of what a lane holds."""
        return list(self._content[lane])

    def close(self, lane: int) -> None:
        """See `Engine.close`."""
        self._content.pop(lane, None)

    def _step(self, content: list[int]) -> int:
        if len(content) >= self.context:
            raise StageError(f"a context of {self.context} is full")
        asked = [n for n, id in enumerate(content) if id == ASK]
        reply = self._replies[(len(asked) - 1) % len(self._replies)] if self._replies else ()
        index = len(content) - asked[-1] - 1
        if index == self._fail_after:
            raise StageError(f"the script fails at id {index}")
        id = reply[index] if index < len(reply) else STOP
        content.append(id)
        return id


def scripted_pieces(
    opening: Sequence[int], cut: Sequence[int] = (), greeting: Sequence[int] = ()
) -> Pieces:
    """The form of a scripted conversation, whose marks are no words of any language."""
    stops = frozenset({STOP})
    return Pieces(tuple(opening), (ASK,), (NEXT,), (JOIN,), stops, tuple(cut), tuple(greeting))
