"""Whisper's log-mel spectrogram, frame by frame: what every model built on Whisper sees.

Source: Radford et al. 2022, section 2.2.
"""

import numpy as np
from numpy.typing import NDArray

HOP = 160
"""Samples from frame to frame: 10 ms at 16 kHz."""
FFT = 400
"""Samples that one frame sees: 200 on each side of its middle."""
SILENCE = np.float32(-10.0)
"""A frame of digital silence, before it is scaled."""

_HANN = np.hanning(FFT + 1)[:-1].astype(np.float32)
_FLOOR = np.float32(1e-10)
_NYQUIST = 8_000.0  # Hz
_LINEAR = 3 / 200  # mels a hertz below 1 kHz
_KNEE_HZ, _KNEE = 1_000.0, 15.0
_LOG_STEP = 27 / np.log(6.4)  # mels to a factor of e above it
_MEL_TOP = float(_KNEE + _LOG_STEP * np.log(_NYQUIST / _KNEE_HZ))

Floats = NDArray[np.float32]


def log_mel(reach: Floats, filters: Floats) -> Floats:
    """Unscaled frames of sound that begins 200 samples before the first frame's middle.

    Args:
        reach: float32 [(frames - 1) * 160 + 400], at least.
        filters: float32 [mels, 201], mel filter bank over the bins of an FFT of 400.

    Returns:
        float32 [mels, frames], log10 of power.
    """
    framed = np.lib.stride_tricks.sliding_window_view(reach, FFT)[::HOP]  # [frames, 400]
    power = np.abs(np.fft.rfft(framed * _HANN, axis=1)).astype(np.float32) ** 2
    frames: Floats = np.log10(np.maximum(filters @ power.T, _FLOOR))
    return frames


def scaled(log: Floats) -> Floats:
    """Frames as Whisper was trained on them: 80 dB deep, about -1 to 1."""
    scaled: Floats = (np.maximum(log, log.max(initial=SILENCE) - 8.0) + 4.0) / 4.0
    return scaled


def mel_filters(count: int) -> Floats:
    """A bank of triangles of equal area, evenly spaced in mel: float32 [count, 201].

    Source: Slaney, "Auditory Toolbox", 1998, as librosa and transformers compute it.
    """
    corners = _hertz(np.linspace(0, _MEL_TOP, count + 2))[:, None]
    widths = np.diff(corners, axis=0)
    bins = np.linspace(0, _NYQUIST, FFT // 2 + 1)
    rising = (bins - corners[:-2]) / widths[:-1]
    falling = (corners[2:] - bins) / widths[1:]
    triangles = np.maximum(0, np.minimum(rising, falling)) * 2 / (corners[2:] - corners[:-2])
    filters: Floats = triangles.astype(np.float32)
    return filters


def _hertz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    linear = mels / _LINEAR
    hertz: NDArray[np.float64] = np.where(
        mels < _KNEE, linear, _KNEE_HZ * np.exp((mels - _KNEE) / _LOG_STEP)
    )
    return hertz
