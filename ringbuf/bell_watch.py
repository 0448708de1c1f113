"""A doorbell under asyncio."""

import asyncio
import contextlib
import time
from collections.abc import Callable

from ringbuf.doorbell import Doorbell
from ringbuf.ends import Ends, Peer
from ringbuf.errors import Closed, PeerDied, RingFull
from ringbuf.ring import SlotRing


class BellWatch:
    """Hears a doorbell on the event loop: calls back with the lanes that were rung, or waits.

    Args:
        bell: owned by this process.
        on_lanes: gets lane numbers; runs on the loop and must not block. A loop that only waits
            needs none.
    """

    def __init__(self, bell: Doorbell, on_lanes: Callable[[list[int]], None] | None = None) -> None:
        self._bell = bell
        self._fd = bell.fileno()
        self._on_lanes = on_lanes
        self._loop = asyncio.get_running_loop()
        self._again: asyncio.Handle | None = None
        self._heard = asyncio.Event()
        self._is_stopped = False
        self._loop.add_reader(self._fd, self._rung)
        self._rung()

    def stop(self) -> None:
        """Hear no more, and let go of whoever listened: its memory is to go with it."""
        if not self._is_stopped:
            self._is_stopped = True
            self._on_lanes = None
            self._loop.remove_reader(self._fd)
            if self._again:
                self._again.cancel()
            self._heard.set()

    async def wait(self, ring: SlotRing, timeout: float | None = None) -> bool:
        """Until there is something to read in a ring of this process.

        Args:
            timeout: seconds; None waits for as long as the writer lives.

        Returns:
            Whether there is.

        Raises:
            PeerDied: the writer is dead, and everything it wrote was read.
        """
        ends = ring._known_ends()
        return await self._wait(ends, ends.reader, ends.writer, lambda: len(ring) > 0, timeout)

    async def wait_for_room(
        self, ring: SlotRing, wanted: int = 1, timeout: float | None = None
    ) -> None:
        """Until so many slots of a ring may be filled.

        Args:
            timeout: seconds; None waits for as long as the reader lives.

        Raises:
            RingFull: not within `timeout`.
            PeerDied: the reader is dead.
        """
        began = time.monotonic_ns()
        ends = ring._known_ends()

        def ready() -> bool:
            return ring.room(wanted) >= wanted

        try:
            if await self._wait(ends, ends.writer, ends.reader, ready, timeout):
                return
        except PeerDied as error:
            raise PeerDied(error.ring, error.process, wanted) from None
        waited_s = (time.monotonic_ns() - began) / 1e9
        raise RingFull(ring.spec.name, wanted, ring.spec.reader, waited_s)

    async def _wait(
        self,
        ends: Ends,
        mine: Peer,
        other: Peer,
        ready: Callable[[], bool],
        timeout: float | None,
    ) -> bool:
        """The same as `Ends.wait`, while the loop goes on."""
        ends.own(mine)
        with ends.watch(other) as check, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    heard = self._heard  # before the look: what is rung after it sets this one
                    if ready() or ends.is_ready_after(check, ready):
                        return True
                    if self._is_stopped:
                        raise Closed(f"nobody hears the doorbell of {ends.me} any more")
                    await heard.wait()
        return ready()

    def _rung(self) -> None:
        """Work, and go to sleep only when nothing is left (docs/ringbuf.md: the handshake)."""
        if self._bell.is_closed:
            self.stop()
            return
        self._bell.disarm()
        lanes = self._bell.take()
        heard, self._heard = self._heard, asyncio.Event()
        heard.set()
        try:
            if lanes and self._on_lanes:
                self._on_lanes(lanes)
        finally:
            self._sleep()

    def _sleep(self) -> None:
        """Go to sleep; or, with work there, let others have the loop first."""
        if self._is_stopped or self._bell.is_closed:
            return
        if not self._bell.arm():
            self._again = self._loop.call_soon(self._rung)
