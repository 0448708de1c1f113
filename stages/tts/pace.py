"""How far a voice is ahead of its listener, and so how much it may wait for."""

from collections.abc import Callable

SECOND = 1_000_000_000


class Pace:
    """The listener of one answer, as if it had been let listen at once.

    Args:
        now: the clock, monotonic ns.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._dry_at: int | None = None  # monotonic ns at which all that was put is heard

    def put(self, seconds: float) -> None:
        """That much more sound can be heard."""
        now = self._now()
        self._dry_at = max(now, self._dry_at or now) + round(seconds * SECOND)

    @property
    def has_begun(self) -> bool:
        """Whether anything was put."""
        return self._dry_at is not None

    @property
    def left(self) -> float:
        """Seconds of sound that were put and not heard."""
        return max(self.hungry_at(0) - self._now(), 0) / SECOND

    def hungry_at(self, reserve: float) -> int:
        """Monotonic ns at which less than `reserve` seconds will be left; 0: nothing was put."""
        return 0 if self._dry_at is None else self._dry_at - round(reserve * SECOND)

    def is_hungry(self, reserve: float) -> bool:
        """Whether that is so now."""
        return self.hungry_at(reserve) <= self._now()
