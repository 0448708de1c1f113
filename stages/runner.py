"""The loop of every stage: sleep until rung, follow sessions, step, isolate errors."""

import logging
from collections.abc import Callable, Iterable

from ringbuf import Arena
from stages.lane import Lane
from stages.messages import CaptionKind
from stages.stage import Session, Stage

log = logging.getLogger(__name__)

SAFETY_S = 1.0  # the longest sleep; also how often a heartbeat is seen
OPEN_FAILED = 1 << 63  # set in an ack: the stage could not open this session


class Runner:
    """Runs one stage over the lanes of an arena.

    Args:
        stage: loaded and warm.
        arena: attached as this stage's process.
        now: the clock, monotonic ns.
    """

    def __init__(self, stage: Stage, arena: Arena, now: Callable[[], int]) -> None:
        self.stage = stage
        self.arena = arena
        self.now = now
        self.sessions: dict[int, Session] = {}
        self._lanes: dict[int, Lane] = {}
        self._known = [0] * arena.layout.lanes
        self._events = arena.events(arena.me)

    def attend(self) -> None:
        """Follow the conversations that are open already, as they are after a death.

        Whatever is written to them from then on is read, and nothing from before: so it comes
        before anybody is told that this stage is back.
        """
        bell = self.arena.bell
        for number in bell.take():
            self._follow_session(number)
            bell.ring(number)  # there may be more to do than that

    def run(self) -> None:
        """Serve for ever; the process ends by signal or with its parent."""
        bell = self.arena.bell
        while True:
            bell.beat = self.now()
            self.turn_over(bell.take())
            bell.park(self.until_due())

    def turn_over(self, rung: Iterable[int]) -> None:
        """One round: lanes that were rung and lanes whose time has come."""
        now = self.now()
        lanes = set(rung)
        for number in lanes:
            self._follow_session(number)
        ready = [
            session
            for number, session in self.sessions.items()
            if number in lanes or (session.due is not None and session.due <= now)
        ]
        if ready:
            self._step(ready)

    def until_due(self) -> float:
        """Seconds until the next lane must be stepped, at most SAFETY_S."""
        dues = [session.due for session in self.sessions.values() if session.due is not None]
        if not dues:
            return SAFETY_S
        return min(max(0.0, (min(dues) - self.now()) / 1e9), SAFETY_S)

    def _step(self, ready: list[Session]) -> None:
        try:
            self.stage.step(ready, self._failed)
        except Exception as error:  # of no lane in particular: then of all that were in it
            for session in ready:
                self._failed(session, error)

    def _follow_session(self, number: int) -> None:
        """Open, close or replace this stage's part of a lane, then say so."""
        current = self._lane(number)
        session = current.session
        if session == self._known[number]:
            return
        self._known[number] = session
        self._close(current)
        current.acknowledge(session | self._open(current) if session % 2 else session)

    def _lane(self, number: int) -> Lane:
        """A lane's views, made once: sessions come and go on the same memory."""
        if number not in self._lanes:
            self._lanes[number] = Lane(self.arena.lane(number), self.arena.me, self._events)
        return self._lanes[number]

    def _close(self, lane: Lane) -> None:
        """Drop the session of a lane, if it has one, and what was not read."""
        lane.skip_unread()
        session = self.sessions.pop(lane.number, None)
        try:
            if session:
                session.close()
        except Exception:
            log.exception("lane %d was not closed in good order", lane.number)

    def _open(self, lane: Lane) -> int:
        """Open a session; 0, or OPEN_FAILED after telling why."""
        try:
            self.sessions[lane.number] = self.stage.open(lane)
        except Exception as error:
            log.exception("lane %d could not be opened", lane.number)
            lane.caption(CaptionKind.ERROR, text=f"{self.arena.me}: {error}")
            return OPEN_FAILED
        return 0

    def _failed(self, session: Session, error: Exception) -> None:
        """A lane's step raised: end its turn, keep the lane; with a new session if need be."""
        lane = session.lane
        log.error("lane %d, turn %d failed", lane.number, lane.turn, exc_info=error)
        lane.caption(CaptionKind.ERROR, turn=lane.turn, text=f"{self.arena.me}: {error}")
        try:
            session.fail(error)
        except Exception:
            log.exception("lane %d begins anew: its session could not even fail", lane.number)
            self._close(lane)
            self._open(lane)
