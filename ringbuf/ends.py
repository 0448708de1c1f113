"""The two processes at the ends of a ring, and how one waits for the other."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ringbuf._core import Doorbell
from ringbuf.errors import PeerDied


@dataclass(frozen=True, slots=True)
class Peer:
    """A process at the end of a ring; `bell` is None where this process does not know it."""

    name: str
    bell: Doorbell | None

    @property
    def life(self) -> int:
        """Counted up by the supervisor at each death (then odd) and each return (then even)."""
        return self.bell.life if self.bell else 0

    def __str__(self) -> str:
        return f"{self.name} (dead)" if self.life % 2 else self.name


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of a ring, seen from one of them.

    Args:
        ring: its name, for messages.
        me: this process.
    """

    ring: str
    me: str
    writer: Peer
    reader: Peer

    @contextmanager
    def watch(self, peer: Peer) -> Iterator[Callable[[], None]]:
        """A check that raises PeerDied if `peer` is dead, or died since the block began."""
        before = peer.life

        def check() -> None:
            now = peer.life
            if now % 2 or now != before:
                raise PeerDied(self.ring, peer.name)

        yield check

    def own(self, peer: Peer) -> Doorbell:
        """The doorbell that this process sleeps on while it waits as `peer`.

        Raises:
            ValueError: it is not at that end of the ring.
        """
        if peer.name != self.me or peer.bell is None:
            raise ValueError(f"only {peer.name} may wait at this end of {self.ring}, not {self.me}")
        return peer.bell

    def wait(self, mine: Peer, other: Peer, ready: Callable[[], bool], seconds: float) -> bool:
        """Sleep until `ready()`, at most so long.

        Lanes that are rung meanwhile keep their work bits: the loop that comes after sees them.

        Args:
            mine: the end that waits; `ready` must have asked to be woken there if it is false.
            other: the end that is waited for.

        Returns:
            Whether it is ready.

        Raises:
            PeerDied: the other end is dead and it is not ready; at most 100 ms after the word.
        """
        bell = self.own(mine)
        end = time.monotonic_ns() + round(seconds * 1e9)
        rung: set[int] = set()
        try:
            with self.watch(other) as check:
                while True:
                    # Empty the pipe, then look: a nudge that comes after the look ends the sleep.
                    bell.disarm()
                    rung.update(bell.take())
                    if ready() or self.is_ready_after(check, ready):
                        return True
                    left = end - time.monotonic_ns()
                    if left <= 0:
                        return False
                    bell.park(left / 1e9)
        finally:
            if not bell.is_closed:
                for lane in rung:
                    bell.ring(lane)

    @staticmethod
    def is_ready_after(check: Callable[[], None], ready: Callable[[], bool]) -> bool:
        """False while the peer lives; once it is dead, whether its last act was what we want.

        Raises:
            PeerDied: it is dead, and was not.
        """
        try:
            check()
        except PeerDied:
            if ready():  # done between our look and its death
                return True
            raise
        return False
