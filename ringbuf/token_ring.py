"""Token ids on their way from one stage to the next."""

import time
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringbuf import _core
from ringbuf.ends import Ends
from ringbuf.layout import RingSpec
from ringbuf.ring import Batch, Column, SlotRing, Span


class Kind(IntEnum):
    """What a token slot says."""

    ID = 0  # one token id
    END = 1  # the run is complete; position is its length
    EMPTY = 2  # complete, and nothing was in it
    FAILED = 3  # the writer could not finish; what came before is all there is
    RESUME = 4  # the speaker goes on: the words stay, the answer to them is void
    GREET = 5  # nobody spoke: the answer is the greeting
    ASK = 6  # nobody spoke: an answer to what was said before
    TEXT = 7  # one token id, which is told and not spoken


class TokenRun(NamedTuple):
    """Slots of one kind, turn and answer; ids have consecutive positions.

    Attributes:
        ids: int32 [n], a view of shared memory: valid only inside the batch's block.
        position: of ids[0].
        stamp: monotonic ns at which ids[0] was put.
    """

    ids: NDArray[np.int32]
    position: int
    turn: int
    answer: int
    kind: Kind
    stamp: int


KINDS = tuple(Kind)


class TokenRing(SlotRing):
    """Slots of (id int32, position, turn, answer uint32, kind uint8, stamp int64 ns)."""

    def __init__(
        self,
        spec: RingSpec,
        core: _core.Ring,
        columns: dict[str, Column],
        slots: _core.Columns,
        ends: Ends | None = None,
    ) -> None:
        super().__init__(spec, core, columns, ends)
        self.ids: NDArray[np.int32] = columns["ids"]
        self.position: NDArray[np.uint32] = columns["position"]
        self.turn: NDArray[np.uint32] = columns["turn"]
        self.answer: NDArray[np.uint32] = columns["answer"]
        self.kind: NDArray[np.uint8] = columns["kind"]
        self.stamp: NDArray[np.int64] = columns["stamp"]
        self._slots = slots

    def put(
        self,
        id: int,
        *,
        position: int,
        turn: int,
        answer: int,
        kind: Kind = Kind.ID,
        timeout: float | None = None,
    ) -> bool:
        """Publish one slot by itself.

        Args:
            id: int32.
            position: index within the turn or the answer, uint32.
            turn: uint32.
            answer: uint32.
            kind: what the slot says.
            timeout: seconds to wait for room; None only tries.

        Returns:
            False if there was no room: nothing was written, and this lane is woken when there is.

        Raises:
            RingFull: there was no room within `timeout`.
            PeerDied: the reader is dead, and there was no room.
            Closed: the arena is closed.
        """
        core = self._core
        if not core.free() and not self._has_room(1, timeout):
            return False
        now = time.monotonic_ns()
        self._slots.set(core.write_slot, id, position, turn, answer, kind, now)
        core.publish(1)
        return True

    def put_run(
        self,
        ids: NDArray[np.int32],
        *,
        position: int,
        turn: int,
        answer: int,
        timeout: float | None = None,
    ) -> int:
        """Publish ids at consecutive positions, as many as there is room for.

        Args:
            ids: int32 [n].
            position: of ids[0].
            timeout: seconds in which to write all of them; None only tries.

        Returns:
            How many were written, from the front; below n, this lane is woken when there is room.

        Raises:
            RingFull: not all were written within `timeout`; it says how many were not.
            PeerDied: the reader is dead; it says how many were not written.
            Closed: the arena is closed.
        """
        done = self._try_run(ids, position, turn, answer)
        if timeout is None or done == len(ids):
            return done
        began = time.monotonic_ns()
        end = began + round(timeout * 1e9)
        while done < len(ids):
            self._await_room(1, len(ids) - done, began, end)
            done += self._try_run(ids[done:], position + done, turn, answer)
        return done

    def _try_run(self, ids: NDArray[np.int32], position: int, turn: int, answer: int) -> int:
        """Publish as many as there is room for; how many that were."""
        count = min(len(ids), self.room(len(ids)))
        done = 0
        now = time.monotonic_ns()
        for span in self._spans(self._core.write_slot, count):
            part = slice(span.start, span.stop)
            size = span.stop - span.start
            self.ids[part] = ids[done : done + size]
            self.position[part] = np.arange(position + done, position + done + size)
            self.turn[part] = turn
            self.answer[part] = answer
            self.kind[part] = Kind.ID
            self.stamp[part] = now
            done += size
        self._core.publish(count)
        return count

    def read(self, limit: int | None = None) -> "TokenBatch":
        """Everything there is, at most `limit` slots, for the length of a `with` block."""
        return TokenBatch(self, limit)

    def _runs(self, span: Span) -> Iterator[TokenRun]:
        """A contiguous piece cut wherever one model input may not go on."""
        start = span.start
        while start < span.stop:
            stop = self._slots.run(start, span.stop)
            yield self._run(start, stop)
            start = stop

    def _run(self, start: int, stop: int) -> TokenRun:
        _, position, turn, answer, kind, stamp = self._slots.get(start)
        return TokenRun(self.ids[start:stop], position, turn, answer, KINDS[kind], stamp)


class TokenBatch(Batch[TokenRing]):
    """Slots being read."""

    __slots__ = ()

    def runs(self) -> Iterator[TokenRun]:
        """The batch in order, as runs whose ids are a model's input as they lie."""
        if self._count == 1:  # the usual case while ids are generated one by one
            slot = self.ring._core.read_slot
            return iter((self.ring._run(slot, slot + 1),))
        return self._cut()

    def stamps(self) -> list[int]:
        """Monotonic ns at which each slot of the batch was put, in order."""
        pieces = (self.ring.stamp[span.start : span.stop] for span in self.spans())
        return [stamp for piece in pieces for stamp in piece.tolist()]

    def _cut(self) -> Iterator[TokenRun]:
        for span in self.spans():
            yield from self.ring._runs(span)
