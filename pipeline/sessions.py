"""Which conversation uses which lane: claimed, followed by every stage, given back."""

import asyncio
import contextlib
import time

from pipeline.errors import SessionError
from pipeline.supervisor import Supervisor
from ringbuf import Lane
from stages.runner import OPEN_FAILED
from stages.topology import STAGES

CLOSE_TIMEOUT_S = 2.0


class Sessions:
    """Opens and closes lanes.

    A session's number is odd while the lane is open and even while it is free. Every stage answers
    each change with an ack; until all have, nobody writes to the lane and nobody may use it.

    Args:
        supervisor: of the stages that must follow.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._arena = supervisor.arena
        self._free = list(reversed(range(supervisor.layout.lanes)))
        self._lanes: dict[int, Lane] = {}
        self._changed: dict[int, asyncio.Event] = {}

    def rung(self, lane: int) -> None:
        """Something about this lane has changed: perhaps an ack."""
        if lane in self._changed:
            self._changed[lane].set()

    async def open(self) -> Lane:
        """Claim a free lane and wait until every stage has opened it.

        Raises:
            SessionError: all lanes are in use, or a stage refused or was too late.
            StageError: a stage died meanwhile.
            ArenaFull: there is no memory for it.
        """
        if not self._free:
            raise SessionError(
                f"all {self._supervisor.layout.lanes} lanes are in use",
                "Close a conversation, or raise pipeline.lanes",
            )
        number = self._free.pop()
        try:
            self._arena.claim(number)
        except BaseException:
            self._free.append(number)
            raise
        lane = self._lanes.setdefault(number, self._arena.lane(number))
        try:
            await self._change(lane, self._supervisor.config.pipeline.open_timeout_s)
        except SessionError:
            with contextlib.suppress(SessionError):  # the first error is the one to tell
                await self.close(lane)
            raise
        return lane

    async def close(self, lane: Lane) -> None:
        """End the conversation on a lane and give its memory back.

        Raises:
            SessionError: a stage did not let go in time; the lane is not used again.
            StageError: a stage died meanwhile.
        """
        await self._change(lane, CLOSE_TIMEOUT_S)
        self._arena.give_back(lane.number)
        self._free.append(lane.number)

    async def _change(self, lane: Lane, timeout: float) -> None:
        """Store the next session number and wait for every ack."""
        session = lane.get("session") + 1
        changed = self._changed[lane.number] = asyncio.Event()
        lane.set("session", session)
        deadline = time.monotonic() + timeout
        while late := self._late(lane, session):
            left = deadline - time.monotonic()
            if left <= 0:
                raise SessionError(
                    f"{', '.join(late)} did not follow session {session} of lane {lane.number} "
                    f"within {timeout:.0f} s"
                )
            changed.clear()
            await self._supervisor.unless_failed(_wait(changed, left))
        refused = [s for s in STAGES if lane.get(f"ack_{s}") & OPEN_FAILED]
        if refused:
            raise SessionError(
                f"{', '.join(refused)} could not open a conversation",
                "Its own message stands in the log above",
            )

    def _late(self, lane: Lane, session: int) -> list[str]:
        acks = {stage: lane.get(f"ack_{stage}") & ~OPEN_FAILED for stage in STAGES}
        return [stage for stage, ack in acks.items() if ack != session]


async def _wait(changed: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return
