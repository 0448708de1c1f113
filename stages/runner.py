"""The loop of every stage: sleep until rung, follow sessions, step, isolate errors."""

import heapq
import logging
from collections.abc import Callable, Iterable

from pipeline.errors import VoxringError
from pipeline.log_lines import FIELDS
from ringbuf import Arena
from stages.lane import Lane
from stages.messages import CaptionKind
from stages.stage import Session, Stage

log = logging.getLogger(__name__)

SAFETY_S = 1.0  # the longest sleep; also how often a heartbeat is seen
STALE = 16  # entries for each lane in the heap of dues, before those that changed are thrown out
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
        self._dues: list[tuple[int, int]] = []  # heap of (due, lane); those that changed are stale
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
        while (due := self._next_due()) is not None and due <= now:
            lanes.add(heapq.heappop(self._dues)[1])
        ready = [self.sessions[number] for number in sorted(lanes) if number in self.sessions]
        if ready:
            self._step(ready)

    def until_due(self) -> float:
        """Seconds until the next lane must be stepped, at most SAFETY_S."""
        due = self._next_due()
        return SAFETY_S if due is None else min(max(0.0, (due - self.now()) / 1e9), SAFETY_S)

    def schedule(self, number: int) -> None:
        """Take note of when a lane must be stepped: its session has changed `due` by itself."""
        session = self.sessions.get(number)
        if session and session.due is not None:
            heapq.heappush(self._dues, (session.due, number))
            if len(self._dues) > STALE * len(self.sessions):
                self._dues = [(s.due, n) for n, s in self.sessions.items() if s.due is not None]
                heapq.heapify(self._dues)

    def _next_due(self) -> int | None:
        """When the next lane must be stepped, monotonic ns; idle lanes cost nothing."""
        while self._dues:
            due, number = self._dues[0]
            session = self.sessions.get(number)
            if session and session.due == due:
                return due
            heapq.heappop(self._dues)
        return None

    def _step(self, ready: list[Session]) -> None:
        try:
            self.stage.step(ready, self._failed)
        except Exception as error:  # of no lane in particular: then of all that were in it
            for session in ready:
                self._failed(session, error)
        finally:
            for session in ready:
                self.schedule(session.lane.number)

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
            if lane.is_reopened:
                lane.caption(CaptionKind.REOPENED)
        except Exception as error:
            is_told = isinstance(error, VoxringError)  # whoever asks reads all there is to it
            level = logging.INFO if is_told else logging.ERROR
            log.log(level, "lane %d could not be opened", lane.number, exc_info=error)
            lane.caption(CaptionKind.ERROR, text=f"{self.arena.me}: {error}")
            return OPEN_FAILED
        return 0

    def _failed(self, session: Session, error: Exception) -> None:
        """A lane's step raised: end its turn, keep the lane; with a new session if need be."""
        lane = session.lane
        where = {FIELDS: {"lane": lane.number, "turn": lane.turn}}
        log.error("lane %d, turn %d failed", lane.number, lane.turn, exc_info=error, extra=where)
        lane.caption(CaptionKind.ERROR, turn=lane.turn, text=f"{self.arena.me}: {error}")
        try:
            session.fail(error)
        except Exception:
            log.exception("lane %d begins anew: its session could not even fail", lane.number)
            self._close(lane)
            self._open(lane)
