"""How often a stage may die before we give it up: pure."""

from collections import deque
from dataclasses import dataclass, field

FIRST_DELAY_S = 0.1
LONGEST_DELAY_S = 5.0


@dataclass
class Restarts:
    """The deaths of one stage.

    Args:
        most: deaths within the window that are forgiven.
        window_s: the window.
    """

    most: int
    window_s: float
    _deaths: deque[float] = field(default_factory=deque)

    def died(self, now: float) -> float | None:
        """Count a death.

        Args:
            now: monotonic s.

        Returns:
            Seconds to wait before the stage is started again, twice as long each time; None: it has
            died too often.
        """
        self._deaths.append(now)
        while self._deaths[0] < now - self.window_s:
            self._deaths.popleft()
        if len(self._deaths) > self.most:
            return None
        return float(min(FIRST_DELAY_S * 2 ** (len(self._deaths) - 1), LONGEST_DELAY_S))
