"""Whether something grows, and how surely: a line through means of consecutive blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WARM_UP = 0.1  # of the samples: caches fill
BLOCKS = 20
DIGITS = 9  # behind the point; what comes after them is the rounding of sums
# Student's t, 97.5 %, by degrees of freedom from 1 on.
T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
     2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101)  # fmt: skip


@dataclass(frozen=True)
class Trend:
    """What something grew by from the first sample to the last that counts.

    Attributes:
        growth: the best estimate.
        low, high: it lies between them with a probability of 95 %.
    """

    growth: float
    low: float
    high: float

    @property
    def sure(self) -> float:
        """Growth that there is for sure; 0: it may be flat, or shrink."""
        return max(0.0, self.low)


def trend(samples: Sequence[tuple[float, float]]) -> Trend | None:
    """Fit a line; None of fewer than six samples.

    Neighbours are alike (memory comes in steps, a busy moment lasts), so that single samples would
    make the line look surer than it is: its points are means of up to twenty blocks of neighbours,
    and the interval is Student's for that many points.

    Args:
        samples: (how far, value), in order.
    """
    kept = samples[int(len(samples) * WARM_UP) :]
    count = min(BLOCKS, len(kept) // 2)
    if count < 3:
        return None
    blocks = np.array_split(np.array(kept, np.float64), count)
    x, y = np.array([block.mean(axis=0) for block in blocks]).T
    away = x - x.mean()
    slope = float(away @ y / (away @ away))
    left = y - y.mean() - slope * away
    error = float(np.sqrt(left @ left / (count - 2) / (away @ away)))
    length = kept[-1][0] - kept[0][0]
    half = T[count - 3] * error
    ends = (slope, slope - half, slope + half)
    return Trend(*(round(end * length, DIGITS) + 0.0 for end in ends))  # 0.0: no minus zero
