"""When growing speech is decoded again: as often as the machine can afford."""

from stages.topology import INPUT_RATE

_SHARE = 0.5  # of the time that decodes of one lane may take, all waiting included
_SMOOTHING = 0.3
_LONGEST_NS = 1_000_000_000  # longer is a program that was stopped, not a slow one


class Cadence:
    """Spaces the decodes of one lane by the sound between them.

    A decode that takes long, because the sound is long or because other lanes and programs want
    the cores, is followed by a longer step; it can never pile up.

    Args:
        first_ms: sound of a turn before its first decode.
        step_ms: sound between two decodes, at least.
    """

    def __init__(self, first_ms: int, step_ms: int) -> None:
        self._first = first_ms * INPUT_RATE // 1000
        self._least = step_ms * INPUT_RATE // 1000
        self._cost_ns = 0.0
        self.clear()

    def clear(self) -> None:
        """Begin a new turn; what a decode costs is remembered."""
        self._next = self._first

    @property
    def step(self) -> int:
        """Samples between the beginnings of two decodes."""
        return max(self._least, int(self._cost_ns / _SHARE * INPUT_RATE / 1e9))

    def is_due(self, samples: int) -> bool:
        """Whether a turn of so many samples is worth a decode."""
        return samples >= self._next

    def began(self, samples: int) -> None:
        """A decode of so many samples begins."""
        self._next = max(samples, self._first) + self.step

    def took(self, ns: int) -> None:
        """A decode lasted so long, from its beginning to its words."""
        ns = min(ns, _LONGEST_NS)
        self._cost_ns += _SMOOTHING * (ns - self._cost_ns) if self._cost_ns else ns
