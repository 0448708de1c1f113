"""A waveform as a bounded number of peaks, small enough for a report."""

import base64

import numpy as np
from numpy.typing import NDArray

FULL = 32768


def peaks(samples: NDArray[np.int16], buckets: int) -> NDArray[np.uint8]:
    """The loudest sample of each part, as a share of full scale: uint8 [at most buckets].

    Args:
        samples: int16 [n].
        buckets: parts of the same length that it is divided into; fewer samples give fewer.
    """
    count = min(buckets, len(samples))
    if count == 0:
        return np.zeros(0, np.uint8)
    starts = np.arange(count) * len(samples) // count
    loudest = np.maximum.reduceat(np.abs(samples.astype(np.int32)), starts)
    return np.rint(loudest * (255 / FULL)).astype(np.uint8)


def pack(values: NDArray[np.uint8]) -> str:
    """As text for JSON."""
    return base64.b64encode(values.tobytes()).decode("ascii")


def unpack(text: str) -> NDArray[np.uint8]:
    """The inverse of `pack`.

    Raises:
        ValueError: it is no base64.
    """
    return np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
