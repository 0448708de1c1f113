"""From figures to places on a plot, in percent of its width: pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """A mark of an axis.

    Attributes:
        at: percent from the left.
        label: what stands there.
    """

    at: float
    label: str


@dataclass(frozen=True)
class Scale:
    """A linear axis from `low` to `high`."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        """Percent from the left, within the plot."""
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.0
        return round(100 * min(max(share, 0.0), 1.0), 3)

    def ticks(self, most: int = 6, unit: str = "") -> list[Tick]:
        """Round values, at most so many."""
        step = round_step((self.high - self.low) / most)
        first = math.ceil(self.low / step)
        last = math.floor(self.high / step + 1e-9)
        return [
            Tick(self(number * step), f"{number * step:,g}{unit}")
            for number in range(first, last + 1)
        ]


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, ... that is at least so much."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def scale_of(values: Iterable[float], *, from_zero: bool = True, most: int = 6) -> Scale:
    """An axis that holds all values and ends at a round one."""
    listed = list(values)
    low = min([0.0, *listed] if from_zero else listed, default=0.0)
    high = max(listed, default=1.0)
    if high <= low:
        high = low + 1.0
    step = round_step((high - low) / most)
    return Scale(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step)


def percentile(values: Sequence[float], percent: float) -> float:
    """Linear between neighbours, as NumPy has it; `values` are not empty."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
