"""How much of the machine goes into answers that nobody may ever hear."""

from collections import deque

SHARE = 0.4  # of the cores
SPAN_NS = 5_000_000_000


class Speculation:
    """Keeps prepared answers from taking the machine away from those that are heard.

    A lane that prepares an answer, from its soft end until it is released or the user goes on, is
    taken to keep one core busy. When that came to SHARE of all cores over the last five seconds, no
    more is begun: an utterance is then decoded and answered only when its turn is over.

    Args:
        cores: of the machine.
    """

    def __init__(self, cores: int) -> None:
        self._most_ns = SHARE * cores * SPAN_NS
        self._running: dict[int, int] = {}  # since when, by lane, monotonic ns
        self._past: deque[tuple[int, int]] = deque()  # from, to

    def began(self, lane: int, now: int) -> None:
        """A lane prepares an answer."""
        self._running.setdefault(lane, now)

    def ended(self, lane: int, now: int) -> None:
        """It does so no more, whatever came of it."""
        if (since := self._running.pop(lane, None)) is not None:
            self._past.append((since, now))

    def is_affordable(self, now: int) -> bool:
        """Whether another lane may begin."""
        start = now - SPAN_NS
        while self._past and self._past[0][1] <= start:
            self._past.popleft()
        spans = [*self._past, *((since, now) for since in self._running.values())]
        return sum(to - max(since, start) for since, to in spans) < self._most_ns
