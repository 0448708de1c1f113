"""Which conversation uses which lane: claimed, followed by every stage, given back."""

import asyncio
import contextlib
import time
from collections.abc import Callable

from pipeline.errors import SessionError
from pipeline.supervisor import Supervisor
from ringbuf import Closed, Lane
from stages.messages import Caption, CaptionKind
from stages.runner import OPEN_FAILED
from stages.topology import CONTROL, STAGES

CLOSE_TIMEOUT_S = 2.0


class Sessions:
    """Opens and closes lanes.

    A session's number is odd while the lane is open and even while it is free. Every stage answers
    each change with an ack; until all have, the lane belongs to nobody. A lane that was released
    goes back to the free ones when the last ack comes, whoever waits for it or does not.

    Args:
        supervisor: of the stages that must follow.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._arena = supervisor.arena
        self._free = list(reversed(range(supervisor.layout.lanes)))
        self._lanes: dict[int, Lane] = {}
        self._closing: set[int] = set()
        self._changed: dict[int, asyncio.Event] = {}
        self._freed = asyncio.Event()

    def rung(self, number: int) -> None:
        """Something about this lane has changed: perhaps an ack."""
        if number in self._closing and not self._late(self._lanes[number]):
            self._give_back(number)
        if number in self._changed:
            self._changed[number].set()

    async def open(self) -> Lane:
        """Claim a free lane and wait until every stage has opened it.

        Raises:
            SessionError: all lanes are in use, or a stage refused or was too late.
            StageError: a stage died meanwhile.
            ArenaFull: there is no memory for it.
        """
        if not self._free and self._closing:  # one is about to be free
            self._freed.clear()
            timeout = self._supervisor.config.pipeline.open_timeout_s
            await self._supervisor.unless_failed(_wait(self._freed, timeout))
        lane = self._claim()
        try:
            lane.set("opened", time.time_ns())
            self._next_session(lane)
            timeout = self._supervisor.config.pipeline.open_timeout_s
            await self._until(lane, lambda: not self._late(lane), timeout)
            refused = [s for s in STAGES if lane.get(f"ack_{s}") & OPEN_FAILED]
            if refused:
                raise SessionError("; ".join(_why(lane, stage) for stage in refused))
        except BaseException:  # whoever asked may be gone: the lane must not go with them
            self.release(lane)
            raise
        lane.skip(CONTROL)
        return lane

    def release(self, lane: Lane) -> None:
        """End the conversation on a lane without waiting for the stages to follow."""
        self._closing.add(lane.number)
        with contextlib.suppress(Closed):  # the pipeline has ended, and every lane with it
            self._next_session(lane)

    async def close(self, lane: Lane) -> None:
        """End the conversation on a lane and wait until it is free.

        Raises:
            SessionError: a stage did not let go in time; the lane is free once it has.
            StageError: a stage died meanwhile.
        """
        self.release(lane)
        await self._until(lane, lambda: lane.number not in self._closing, CLOSE_TIMEOUT_S)

    def _claim(self) -> Lane:
        if not self._free:
            raise SessionError(
                f"all {self._supervisor.layout.lanes} lanes are in use",
                "Close a conversation, or raise pipeline.lanes",
            )
        number = self._free[-1]
        self._arena.claim(number)
        self._free.pop()
        if number not in self._lanes:
            self._lanes[number] = self._arena.lane(number)
            self._supervisor.used_lanes.add(number)
        return self._lanes[number]

    def _give_back(self, number: int) -> None:
        """Every stage has let go: nothing of this session may reach the next."""
        self._closing.remove(number)
        self._lanes[number].skip(CONTROL)
        self._arena.give_back(number)
        self._free.append(number)
        self._freed.set()

    def _next_session(self, lane: Lane) -> None:
        lane.set("session", lane.get("session") + 1)

    async def _until(self, lane: Lane, done: Callable[[], bool], timeout: float) -> None:
        """Wait for something that acks bring about."""
        changed = self._changed[lane.number] = asyncio.Event()
        deadline = time.monotonic() + timeout
        while not done():
            if self._supervisor.away.intersection(self._late(lane)):
                deadline = time.monotonic() + timeout  # it follows when it is back
            left = deadline - time.monotonic()
            if left <= 0:
                raise SessionError(
                    f"{', '.join(self._late(lane))} did not follow session {lane.get('session')} "
                    f"of lane {lane.number} within {timeout:g} s"
                )
            changed.clear()
            await self._supervisor.unless_failed(_wait(changed, left))

    def _late(self, lane: Lane) -> list[str]:
        """The stages that have not followed the lane's session yet."""
        session = lane.get("session")
        return [s for s in STAGES if lane.get(f"ack_{s}") & ~OPEN_FAILED != session]


async def _wait(changed: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return


def _why(lane: Lane, stage: str) -> str:
    """What a stage says of a conversation that it could not open."""
    told = map(Caption.unpack, lane.command(f"captions_{stage}").read())
    texts = [each.payload.decode() for each in told if each.kind is CaptionKind.ERROR]
    return texts[-1] if texts else f"{stage} could not open a conversation"
