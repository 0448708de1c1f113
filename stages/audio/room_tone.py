"""The sound of a room in which nobody speaks, to go on with when a clip has ended.

Never digital zeros: voice activity detectors and recognisers behave differently on them, so that
a latency measured over zeros is not one that a person gets.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stages.audio.clip import Clip
from stages.audio.level import FULL_SCALE, amplitude, decibels, rms
from stages.topology import INPUT_RATE

QUIET_DBFS = -70.0  # a quiet room at a good microphone; used where a clip does not tell
_SOFTEST_DBFS, _LOUDEST_DBFS = -80.0, -40.0
_PERCENTILE = 5.0  # windows in which nobody speaks, also in a clip that is nearly all speech
_LOOP = 1 << 16  # samples, 4.1 s
_CORNER_HZ = 1_000.0  # rooms rumble more than they hiss


def noise_level(clip: Clip) -> float:
    """The level in dBFS of a clip's quietest moments, between -80 and -40.

    Windows of digital zeros (padding of codecs and editors) are not the room: they are left out,
    and a clip of nothing else gets a quiet room. Louder than -40 dBFS is taken for speech that
    fills the clip from end to end.
    """
    levels = rms(clip.samples, max(1, clip.rate // 50))  # 20 ms
    audible = levels[levels > 0]
    if audible.size == 0:
        return QUIET_DBFS
    quiet = decibels(float(np.percentile(audible, _PERCENTILE)))
    return min(max(quiet, _SOFTEST_DBFS), _LOUDEST_DBFS)


class RoomTone:
    """An endless stream of noise at one level: the same for the same level and seed.

    A loop of 4 s is made once; a block costs a copy. Its spectrum has random phases and falls by
    6 dB an octave above 1 kHz, and being made in the frequency domain it is seamless.
    """

    def __init__(self, dbfs: float = QUIET_DBFS, seed: int = 0) -> None:
        self.dbfs = dbfs
        self._loop = _make_loop(dbfs, seed)
        self._next = 0

    def take(self, count: int) -> NDArray[np.int16]:
        """The next samples, int16 [count] at 16 kHz."""
        indices = np.arange(self._next, self._next + count) % _LOOP
        self._next = (self._next + count) % _LOOP
        return self._loop[indices]


def _make_loop(dbfs: float, seed: int) -> NDArray[np.int16]:
    frequencies = np.fft.rfftfreq(_LOOP, 1 / INPUT_RATE)
    gains = 1 / np.sqrt(1 + (frequencies / _CORNER_HZ) ** 2)
    gains[frequencies < 20] = 0  # no offset, nothing inaudible
    turns = np.random.default_rng(seed).random(gains.size)
    noise = np.fft.irfft(gains * np.exp(2j * math.pi * turns), _LOOP)
    noise *= amplitude(dbfs) * FULL_SCALE / np.sqrt(np.mean(noise**2))
    loop: NDArray[np.int16] = np.clip(np.rint(noise), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)
    return loop
