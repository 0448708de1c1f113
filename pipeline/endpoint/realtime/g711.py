"""G.711: telephone sound, one byte a sample at 8 kHz.

The tables are computed from ITU-T G.711's segments; Python's own module for them left with 3.13.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.int16]
Codes = NDArray[np.uint8]

_BIAS = 132  # of mu-law: it puts the first segment's steps on those of the others
_BYTES = np.arange(256)


@cache
def mu_law() -> Samples:
    """What each mu-law byte sounds like, int16 [256]."""
    bits = ~_BYTES & 0xFF
    segment, step = bits >> 4 & 7, bits & 15
    level = ((step << 3) + _BIAS << segment) - _BIAS
    return np.where(bits & 0x80, -level, level).astype(np.int16)


@cache
def a_law() -> Samples:
    """What each A-law byte sounds like, int16 [256]."""
    bits = _BYTES ^ 0x55
    segment, step = bits >> 4 & 7, bits & 15
    level = np.where(segment, (step << 4) + 264 << np.maximum(segment - 1, 0), (step << 4) + 8)
    return np.where(bits & 0x80, level, -level).astype(np.int16)


@cache
def _nearest(table_name: str) -> Codes:
    """The byte that comes nearest to each sample, by sample + 32768, uint8 [65536]."""
    table = {"mu": mu_law, "a": a_law}[table_name]().astype(np.int32)
    order = np.argsort(table, kind="stable")
    levels = table[order]
    middles = (levels[:-1] + levels[1:]) / 2
    samples = np.arange(-32768, 32768)
    return order[np.searchsorted(middles, samples, side="left")].astype(np.uint8)


def encode(samples: Samples, *, mu: bool) -> bytes:
    """Bytes of int16 [n]; mu-law, else A-law."""
    return _nearest("mu" if mu else "a")[samples.astype(np.int32) + 32768].tobytes()


def decode(data: bytes, *, mu: bool) -> Samples:
    """int16 [n] of n bytes."""
    return (mu_law() if mu else a_law())[np.frombuffer(data, np.uint8)]
