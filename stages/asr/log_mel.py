"""Whisper's log-mel spectrogram of sound that grows: only new frames are computed."""

import numpy as np

from stages.asr.window import FULL, RATE
from stages.mel import FFT, HOP, SILENCE, Floats, log_mel, scaled

ROOM = 2 * FULL
"""Samples that are kept at most: a minute."""

_HALF = FFT // 2


class LogMel:
    """Sound and its spectrogram, from the first sample that was kept.

    The numbers are those of faster-whisper's FeatureExtractor, whatever pieces sound arrives in.

    Args:
        filters: float32 [mels, 201], mel filter bank over the bins of an FFT of 400.
    """

    def __init__(self, filters: Floats) -> None:
        self._filters = filters
        self._sound = np.zeros(ROOM + _HALF + FFT, np.float32)  # [_HALF of the past | kept]
        self._frames = np.zeros((filters.shape[0], ROOM // HOP + 1), np.float32)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.samples = 0
        self._done = 0  # frames that later sound cannot change
        self._has_past = False

    @property
    def sound(self) -> Floats:
        """What is kept, float32 [samples] in -1 to 1: a view, valid until the next call."""
        return self._sound[_HALF : _HALF + self.samples]

    def append(self, sound: Floats) -> None:
        """Take more sound, float32 [n] in -1 to 1.

        Raises:
            ValueError: more than a minute is kept; `drop` what is done with.
        """
        end = self.samples + sound.size
        if end > ROOM:
            raise ValueError(f"{end / RATE:.0f} s of sound at once, at most {ROOM // RATE} s fit")
        self._sound[_HALF + self.samples : _HALF + end] = sound
        self.samples = end
        if not self._has_past and end > _HALF:
            _mirror(self._sound)
            self._has_past = True
        whole = _whole_frames(end)
        if whole > self._done:
            reach = self._sound[self._done * HOP : (whole - 1) * HOP + FFT]
            self._frames[:, self._done : whole] = log_mel(reach, self._filters)
            self._done = whole

    def window(self, samples: int, size: int) -> Floats:
        """The spectrogram of the first samples that are kept, followed by digital silence.

        Args:
            samples: of sound; what lies behind them is left out.
            size: samples that the spectrogram covers.

        Returns:
            float32 [mels, size / 160], scaled as Whisper was trained.
        """
        whole = _whole_frames(samples)
        touched = min(size // HOP, (samples + _HALF - 1) // HOP + 1)  # frames with any sound
        log = np.full((self._filters.shape[0], size // HOP), SILENCE, np.float32)
        log[:, :whole] = self._frames[:, :whole]
        if touched > whole:
            reach = np.zeros((touched - 1 - whole) * HOP + FFT + 1, np.float32)
            known = self._sound[whole * HOP : _HALF + samples]
            reach[: known.size] = known
            if not self._has_past:
                _mirror(reach)
            log[:, whole:touched] = log_mel(reach[:-1], self._filters)
        return scaled(log)

    def drop(self, samples: int) -> None:
        """Forget the first samples, a multiple of 160; what stays keeps its true past."""
        frames, kept = samples // HOP, self.samples - samples
        self._sound[: _HALF + kept] = self._sound[samples : samples + _HALF + kept].copy()
        left = max(0, self._done - frames)
        self._frames[:, :left] = self._frames[:, frames : frames + left].copy()
        self.samples, self._done = kept, left


def _mirror(sound: Floats) -> None:
    """Write what Whisper was trained to see before the first sample: what comes behind it."""
    sound[:_HALF] = sound[_HALF + 1 : FFT + 1][::-1]


def _whole_frames(samples: int) -> int:
    """How many frames see nothing behind these samples; the mirror needs one sample more."""
    return (samples - _HALF) // HOP + 1 if samples > _HALF else 0
