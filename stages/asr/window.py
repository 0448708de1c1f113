"""How much sound one Whisper decode is given, and where longer sound is cut."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

RATE = 16_000
"""Samples a second that Whisper was trained on."""
FULL = 30 * RATE
"""Whisper's own window, samples: the longest it can see, and the safest."""
FRAME = 320
"""Samples behind one encoder position (20 ms)."""
SHORTEST = 8 * RATE
"""The window of short sound."""

_MARGIN = 1 * RATE
_CUT_SMOOTHING = 10  # frames; one quiet frame inside a word is not a pause
_VOICED_BELOW_PEAK_DB = 30.0
_SILENT_DBFS = -120.0  # said of digital silence, whose level has no logarithm


def window_for(samples: int, shortest: int = SHORTEST) -> int:
    """Give the window, in samples, for a sound of `samples`: max(8 s, length + 1 s), at most 30 s.

    An encoder given exactly the sound's length makes the decoder loop; 8 s costs a tenth of 30 s
    and measured no worse (design §6). A window is of whole seconds, because CTranslate2 keeps about
    a megabyte for each length that it has ever seen.
    """
    wanted = max(shortest, samples + _MARGIN)
    return min(FULL, -(-wanted // RATE) * RATE)


def loudest_dbfs(audio: Floats) -> float:
    """Give the level of the loudest 20 ms, dB below full scale; -120 for digital silence."""
    peak = float(_levels(audio).max(initial=0.0))
    return 20 * float(np.log10(peak)) if peak > 1e-6 else _SILENT_DBFS


def voiced_seconds(audio: Floats) -> float:
    """Give how long the sound is within 30 dB of its loudest 20 ms: about how long was spoken."""
    levels = _levels(audio)
    floor = levels.max(initial=0.0) * 10 ** (-_VOICED_BELOW_PEAK_DB / 20)
    return float(np.count_nonzero(levels > floor)) * FRAME / RATE


def quietest(audio: Floats, start: int, stop: int) -> int:
    """Give the quietest 20 ms of the quietest 0.2 s between two samples: the best place to cut."""
    levels = _levels(audio[start:stop])
    if levels.size < _CUT_SMOOTHING:
        return (start + stop) // 2
    smooth = np.convolve(levels, np.ones(_CUT_SMOOTHING) / _CUT_SMOOTHING, mode="valid")
    frame = int(smooth.argmin())
    frame += int(levels[frame : frame + _CUT_SMOOTHING].argmin())
    return min(start + frame * FRAME + FRAME // 2, stop)


def _levels(audio: Floats) -> NDArray[np.float64]:
    """Give the RMS of every 20 ms; the last frame may be shorter."""
    if not audio.size:
        return np.zeros(0)
    starts = np.arange(0, audio.size, FRAME)
    power = np.add.reduceat(np.square(audio, dtype=np.float64), starts)
    counts = np.minimum(FRAME, audio.size - starts)
    level: NDArray[np.float64] = np.sqrt(power / counts)
    return level
