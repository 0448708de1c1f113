"""Loudness in dBFS: 0 dB is a square wave at full scale."""

import math

import numpy as np
from numpy.typing import NDArray

FULL_SCALE = 32768  # of int16


def rms(samples: NDArray[np.float32], window: int) -> NDArray[np.float64]:
    """Root mean square of each whole window of `window` samples; a shorter rest is left out."""
    count = samples.size // window
    blocks = samples[: count * window].reshape(count, window).astype(np.float64)
    result: NDArray[np.float64] = np.sqrt(np.mean(blocks * blocks, axis=1))
    return result


def amplitude(dbfs: float) -> float:
    """The RMS, as a share of full scale, of a level in dBFS."""
    return float(10.0 ** (dbfs / 20.0))


def decibels(share: float) -> float:
    """The level in dBFS of an RMS given as a share of full scale; it must be above zero."""
    return 20.0 * math.log10(share)


def block_dbfs(samples: NDArray[np.int16]) -> float:
    """How loud a short piece is, int16 [n], in dBFS; minus infinity for digital silence."""
    if not samples.size:
        return -math.inf
    mean = float(np.mean(np.square(samples, dtype=np.float64)))
    return 10.0 * math.log10(mean / FULL_SCALE**2) if mean else -math.inf
