"""Normal noise by counter: the value at a place depends on nothing but the place.

A voice that draws its noise in order changes everything when the text grows by a word. Here the
noise of frame 50 is the same whether it is asked for alone, or with its neighbours, or again.
"""

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)


def normal(key: int, first: int, count: int, channels: int) -> NDArray[np.float32]:
    """Standard normal noise, float32 [channels, count], of places `first` to `first + count`.

    A hash of key, place and channel (the finaliser of SplitMix64: Steele, Lea, Flood 2014) gives
    two uniform numbers, these a normal one (Box and Muller 1958).

    Args:
        key: another key, other noise; 0 to 2**63 - 1.
        first: 0 to 2**32 - 1.
        channels: at most 2**16.
    """
    places = np.arange(first, first + count, dtype=np.uint64)
    at = (places[None, :] << np.uint64(16)) + np.arange(channels, dtype=np.uint64)[:, None]
    bits = _mix(at + _mix(np.array([key], np.uint64)))
    # Centres of 2**32 equal cells: never 0, whose logarithm would be infinite.
    radius = ((bits >> np.uint64(32)).astype(np.float64) + 0.5) / 2**32
    angle = (bits & np.uint64(0xFFFF_FFFF)).astype(np.float64) * (2 * np.pi / 2**32)
    noise: NDArray[np.float64] = np.sqrt(-2 * np.log(radius)) * np.cos(angle)
    return noise.astype(np.float32)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    value = (value + np.uint64(1)) * _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return value ^ (value >> np.uint64(31))
