"""How much sound one Whisper decode is given, and where longer sound is cut."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

RATE = 16_000
"""Samples a second that Whisper was trained on."""
FULL = 30 * RATE
"""Whisper's own window, samples: the longest it can see, and the safest."""
FRAME = 320
"""Samples behind one encoder position (20 ms); a window is a whole number of them."""

_SHORTEST = 8 * RATE
_MARGIN = 1 * RATE
_CUT_LATEST = 29 * RATE
_CUT_EARLIEST = 15 * RATE
_CUT_SMOOTHING = 10  # frames; one quiet frame inside a word is not a pause
_VOICED_BELOW_PEAK_DB = 30.0
_SILENT_DBFS = -120.0  # said of digital silence, whose level has no logarithm


def window_for(samples: int) -> int:
    """Give the window, in samples, for a sound of `samples`: max(8 s, length + 1 s), at most 30 s.

    An encoder given exactly the sound's length makes the decoder loop; 8 s costs a tenth of 30 s
    and measured no worse (design §6).
    """
    wanted = max(_SHORTEST, samples + _MARGIN)
    return min(FULL, -(-wanted // FRAME) * FRAME)


def pieces(audio: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """Cut sound longer than 29 s at its quietest points; the pieces together are the sound."""
    while audio.size > _CUT_LATEST:
        cut = _quietest(audio[_CUT_EARLIEST:_CUT_LATEST]) + _CUT_EARLIEST
        yield audio[:cut]
        audio = audio[cut:]
    if audio.size:
        yield audio


def loudest_dbfs(audio: NDArray[np.float32]) -> float:
    """Give the level of the loudest 20 ms, dB below full scale; -120 for digital silence."""
    peak = float(_levels(audio).max(initial=0.0))
    return 20 * float(np.log10(peak)) if peak > 1e-6 else _SILENT_DBFS


def voiced_seconds(audio: NDArray[np.float32]) -> float:
    """Give how long the sound is within 30 dB of its loudest 20 ms: about how long was spoken."""
    levels = _levels(audio)
    floor = levels.max(initial=0.0) * 10 ** (-_VOICED_BELOW_PEAK_DB / 20)
    return float(np.count_nonzero(levels > floor)) * FRAME / RATE


def _quietest(audio: NDArray[np.float32]) -> int:
    levels = _levels(audio)
    smooth = np.convolve(levels, np.ones(_CUT_SMOOTHING) / _CUT_SMOOTHING, mode="same")
    edge = _CUT_SMOOTHING  # `same` pads with zeros, which would look like silence
    return (int(smooth[edge:-edge].argmin()) + edge) * FRAME


def _levels(audio: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give the RMS of every 20 ms; the last frame may be shorter."""
    if not audio.size:
        return np.zeros(0)
    starts = np.arange(0, audio.size, FRAME)
    power = np.add.reduceat(np.square(audio, dtype=np.float64), starts)
    counts = np.minimum(FRAME, audio.size - starts)
    level: NDArray[np.float64] = np.sqrt(power / counts)
    return level
