"""How fast one connection is read: a token bucket. Pure, the clock is passed in."""

UNIT = 8192  # bytes: 85 ms at 48 kHz, or 128 ms of 24 kHz in base64


def weight(size: int) -> float:
    """For how many messages one of so many bytes counts: to read it costs that much more."""
    return max(1.0, size / UNIT)


class Pace:
    """Lets `per_s` messages through a second, and a burst of `burst` at once.

    Args:
        now_s: the clock, monotonic s.
    """

    def __init__(self, per_s: float, burst: float, now_s: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left = burst
        self._at = now_s
        self._over_since: float | None = None

    def delay(self, now_s: float, count: float = 1.0) -> float:
        """Count a message as `count`; how long to wait before the next one is read, s."""
        self._left = min(self._burst, self._left + (now_s - self._at) * self._per_s) - count
        self._at = now_s
        if self._left > self._burst / 2:
            self._over_since = None
        elif self._left < 0 and self._over_since is None:
            self._over_since = now_s
        return max(0.0, -self._left / self._per_s)

    @property
    def over_s(self) -> float:
        """For how long the other side has sent too much, without a pause that would make up for it.

        Up to the last message; 0: it does not.
        """
        return 0.0 if self._over_since is None else self._at - self._over_since
