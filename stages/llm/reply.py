"""The writing end of `reply`: each id by itself, and an end that is always told."""

from collections import deque
from collections.abc import Callable

import numpy as np

from ringbuf import Kind
from stages.event import Event
from stages.lane import Lane
from stages.messages import CaptionKind, End, Status

_STATUS = {Kind.END: Status.OK, Kind.EMPTY: Status.EMPTY, Kind.FAILED: Status.FAILED}


class Reply:
    """One answer on its way to the voice.

    Slots that find no room wait here; the ring wakes this lane when there is some.

    Args:
        lane: whose `reply` it is.
        turn: the turn that it answers.
        answer: its number.
        now: the clock, monotonic ns.
        kind: ID if it is spoken, TEXT if it is only told.
    """

    def __init__(
        self,
        lane: Lane,
        turn: int,
        answer: int,
        now: Callable[[], int],
        kind: Kind = Kind.ID,
    ) -> None:
        self.turn = turn
        self.answer = answer
        self.count = 0
        self._kind = kind
        self._lane = lane
        self._now = now
        self._waiting: deque[tuple[int, int, Kind]] = deque()  # id, position, kind
        self.closed = False

    def put(self, id: int) -> None:
        """Publish the next id."""
        self._waiting.append((id, self.count, self._kind))
        self.flush()
        if self.count == 0:
            self._emit(Event.FIRST_ID, 0)
        self._lane.caption(
            CaptionKind.REPLY,
            turn=self.turn,
            answer=self.answer,
            position=self.count,
            ids=np.array([id], np.int32),
        )
        self.count += 1

    def close(self, kind: Kind, *, asked: int = 0, known: int = 0, limited: bool = False) -> None:
        """Publish how it ended: END, EMPTY or FAILED.

        Args:
            asked: ids that stand before the answer,
            known: and how many of them were computed before it was asked for.
            limited: it was long enough, and not complete.
        """
        self.closed = True
        self._lane.caption(
            CaptionKind.REPLY_ALL,
            turn=self.turn,
            answer=self.answer,
            position=self.count,
            ids=np.array([asked, known, limited], np.int32),
        )
        self._waiting.append((0, self.count, kind))
        self.flush()
        self._lane.reply_end = End(self.answer, self.count, _STATUS[kind])
        self._emit(Event.LAST_ID, self.count)

    def flush(self) -> bool:
        """Publish what waits; false if there is still no room for all of it."""
        while self._waiting:
            id, position, kind = self._waiting[0]
            if not self._lane.reply.put(
                id, position=position, turn=self.turn, answer=self.answer, kind=kind
            ):
                return False
            self._waiting.popleft()
        return True

    def _emit(self, event: Event, value: int) -> None:
        self._lane.emit(event, turn=self.turn, answer=self.answer, value=value, at=self._now())
