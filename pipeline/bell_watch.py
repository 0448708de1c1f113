"""A doorbell under asyncio."""

import asyncio
from collections.abc import Callable

from ringbuf import Doorbell


class BellWatch:
    """Calls back with the lanes that were rung, on the event loop.

    Args:
        bell: owned by this process.
        on_lanes: gets lane numbers; runs on the loop and must not block.
    """

    def __init__(self, bell: Doorbell, on_lanes: Callable[[list[int]], None]) -> None:
        self._bell = bell
        self._on_lanes = on_lanes
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(bell.fileno(), self._rung)
        self._rung()

    def stop(self) -> None:
        """Hear no more, and let go of whoever listened: its memory is to go with it."""
        self._on_lanes = lambda lanes: None
        self._loop.remove_reader(self._bell.fileno())

    def _rung(self) -> None:
        """Work until there is nothing left, and only then go to sleep (design: the handshake)."""
        self._bell.disarm()
        asleep = False
        while not asleep:
            try:
                if lanes := self._bell.take():
                    self._on_lanes(lanes)
            finally:  # awake and not listening, it would never be rung again
                asleep = self._bell.arm()
