"""Ids as tones: sound from which a test can read the ids back.

An id is written with three digits to the base 64, each a sine in a band of its own, 30 Hz from one
digit to the next. The last quarter of each tone is silent, so that equal ids in a row stay apart.
"""

import numpy as np
from numpy.typing import NDArray

BASE = 64
IDS = BASE**3  # larger ids are written modulo this
STEP_HZ = 30.0
BANDS_HZ = (300.0, 2420.0, 4540.0)  # of digit 0, least significant digit first
AMPLITUDE = 0.2  # of each sine; the three together stay below full scale
SHORTEST_S = 0.04  # a shorter tone cannot be told from its neighbour
LOWEST_RATE = 16_000  # the highest digit lies at 6,430 Hz
_FRAME_S = 0.001
_QUIET = 0.02
_WHOLE = 0.65  # of a tone is loud, at least; frames at its edges are lost


def tone(id: int, rate: int, seconds: float) -> NDArray[np.int16]:
    """Sound of one id, int16 [seconds * rate], three quarters of it loud."""
    size = round(seconds * rate)
    time = np.arange(size * 3 // 4) / rate
    samples = np.zeros(size)
    for band, digit in zip(BANDS_HZ, _digits(id), strict=True):
        samples[: len(time)] += AMPLITUDE * np.sin(2 * np.pi * (band + STEP_HZ * digit) * time)
    return np.round(samples * 32767).astype(np.int16)


def read_tones(samples: NDArray[np.int16], rate: int) -> list[int]:
    """The ids (modulo IDS) in a recording of tones, whatever silence lies between them."""
    shortest = SHORTEST_S * rate / 2  # less is a tone that was cut off
    spans = _loud(samples, rate)
    return [_read(samples[start:stop], rate) for start, stop in spans if stop - start >= shortest]


def read_whole_tones(samples: NDArray[np.int16], rate: int, seconds: float) -> list[int]:
    """The ids of tones that sounded to their end.

    One that was held in its middle, and went on behind the pause, counts once; one that the
    recording breaks off does not.

    Args:
        seconds: how long an id sounds, silence included.
    """
    ids: list[int] = []
    parts: list[NDArray[np.int16]] = []
    size = seconds * rate
    rest = size / 4 - 2 * _FRAME_S * rate  # the silence that belongs to it
    for start, stop in _loud(samples, rate):
        parts.append(samples[start:stop])
        if sum(map(len, parts)) >= _WHOLE * size and stop + rest <= len(samples):
            ids.append(_read(max(parts, key=len), rate))
            parts.clear()
    return ids


def _loud(samples: NDArray[np.int16], rate: int) -> list[tuple[int, int]]:
    """Where something sounds: from and to, in whole frames."""
    frame = max(1, round(_FRAME_S * rate))
    count = len(samples) // frame
    frames = samples[: count * frame].reshape(count, frame) / 32768
    loud = np.sqrt(np.mean(np.square(frames), axis=1)) >= _QUIET
    edges = np.flatnonzero(np.diff(loud, prepend=False, append=False)) * frame
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _read(samples: NDArray[np.int16], rate: int) -> int:
    time = np.arange(len(samples)) / rate
    windowed = samples * np.hanning(len(samples))
    id = 0
    for place, band in enumerate(BANDS_HZ):
        pitches = band + STEP_HZ * np.arange(BASE)
        waves = np.exp(-2j * np.pi * pitches[:, None] * time)  # [BASE, samples]
        id += int(np.argmax(np.abs(waves @ windowed))) * BASE**place
    return id


def _digits(id: int) -> tuple[int, ...]:
    return tuple(id // BASE**place % BASE for place in range(len(BANDS_HZ)))
