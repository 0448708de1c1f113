"""Figures out of a sample."""

from collections.abc import Iterable

import numpy as np


def percentile(values: Iterable[float], percent: float) -> float | None:
    """A percentile, linear between neighbours; None of nothing."""
    sample = list(values)
    return float(np.percentile(sample, percent)) if sample else None


def median(values: Iterable[float]) -> float | None:
    """The middle of a sample; None of nothing."""
    return percentile(values, 50)


def rounded(value: float | None) -> float | None:
    """A figure to three decimals or, below one, to three significant digits."""
    if value is None or value == 0:
        return value
    return round(value, 3) if abs(value) >= 1 else float(f"{value:.3g}")
