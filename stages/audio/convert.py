"""Sound of any rate, width and channels to what the pipeline hears: 16 kHz mono int16.

Decode, down-mix and resample are three separate steps, each decided by its own property of the
source: stereo at the right rate is down-mixed though nothing is resampled.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from stages.audio.level import FULL_SCALE
from stages.topology import INPUT_RATE


class Encoding(StrEnum):
    """How one sample is written, little-endian."""

    S16 = "s16"
    S24 = "s24"
    S32 = "s32"
    F32 = "f32"

    @property
    def width(self) -> int:
        """Bytes per sample."""
        return int(self.value[1:]) // 8


@dataclass(frozen=True)
class Format:
    """What a byte stream of sound is made of; it travels with the stream, nothing is guessed.

    Attributes:
        rate: frames per second.
        channels: interleaved.
        encoding: of one sample.
    """

    rate: int
    channels: int = 1
    encoding: Encoding = Encoding.S16

    def __post_init__(self) -> None:
        if self.rate < 1 or self.channels < 1:
            raise AudioError(
                f"sound of {self.rate} Hz and {self.channels} channels, expected at least 1 each"
            )

    @property
    def is_int16_mono(self) -> bool:
        """Whether it is what the pipeline hears, but for its rate."""
        return self.channels == 1 and self.encoding is Encoding.S16

    @property
    def frame_bytes(self) -> int:
        """Bytes per frame: one sample of every channel."""
        return self.channels * self.encoding.width


class Converter:
    """One stream of bytes, chunk by chunk, to int16 [samples] at `rate`, mono.

    Chunks may end anywhere: the bytes of an incomplete frame wait for the next chunk of the same
    stream. Resampling delays the sound by some milliseconds; `finish` brings the rest.
    """

    def __init__(self, source: Format, rate: int = INPUT_RATE) -> None:
        self.source = source
        self._partial = b""
        self._resampler = stream_resampler(source.rate, rate) if source.rate != rate else None

    def feed(self, data: bytes) -> NDArray[np.int16]:
        """Convert what is complete."""
        data = self._partial + data
        whole = len(data) - len(data) % self.source.frame_bytes
        self._partial = data[whole:]
        return self._convert(data[:whole], last=False)

    def finish(self) -> NDArray[np.int16]:
        """End the stream: the rest of the resampler; a partial frame is dropped."""
        rest = self._convert(b"", last=True)
        self.reset()
        return rest

    def reset(self) -> None:
        """Forget the stream, as after a cancel: nothing of it reaches the next one."""
        self._partial = b""
        if self._resampler is not None:
            self._resampler.clear()

    def _convert(self, data: bytes, *, last: bool) -> NDArray[np.int16]:
        if self._resampler is None and self.source.is_int16_mono:  # nothing is to be done
            return np.frombuffer(data, "<i2").astype(np.int16)
        mono = downmix(decode(data, self.source))
        if self._resampler is not None:
            mono = self._resampler.resample_chunk(mono, last=last)
        return to_int16(mono)


def convert(samples: NDArray[np.float32], rate: int, to: int = INPUT_RATE) -> NDArray[np.int16]:
    """A whole mono clip, float32 [samples], to int16 [samples] at another rate; no delay."""
    return to_int16(resample(samples, rate, to))


def resample(samples: NDArray[np.float32], rate: int, to: int) -> NDArray[np.float32]:
    """A whole mono clip, float32 [samples], at another rate."""
    if rate == to:
        return samples
    result: NDArray[np.float32] = _import_soxr().resample(samples, rate, to, quality="HQ")
    return result


def decode(data: bytes, source: Format) -> NDArray[np.float32]:
    """Bytes of whole frames to float32 [frames, channels], full scale 1.0."""
    match source.encoding:
        case Encoding.S16:
            flat = np.frombuffer(data, "<i2").astype(np.float32) / np.float32(FULL_SCALE)
        case Encoding.S24:
            flat = _decode_s24(data)
        case Encoding.S32:
            flat = (np.frombuffer(data, "<i4") / 2.0**31).astype(np.float32)
        case Encoding.F32:  # a peer may send anything: not-a-number becomes silence
            flat = np.nan_to_num(np.frombuffer(data, "<f4"), posinf=1.0, neginf=-1.0)
    return flat.reshape(-1, source.channels)


def downmix(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32 [frames, channels] to [frames]: the mean, which cannot clip."""
    mono: NDArray[np.float32] = frames[:, 0]
    return mono if frames.shape[1] == 1 else frames.mean(axis=1, dtype=np.float32)


def to_int16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """float32 of full scale 1.0 to int16, rounded; what is too loud is clipped, not wrapped."""
    scaled: NDArray[np.float32] = np.rint(samples * np.float32(FULL_SCALE))
    return scaled.clip(-FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def _decode_s24(data: bytes) -> NDArray[np.float32]:
    padded = np.zeros((len(data) // 3, 4), np.uint8)
    padded[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
    widened: NDArray[np.int32] = padded.view("<i4")[:, 0]  # the 24 bits at the top of 32
    return (widened / 2.0**31).astype(np.float32)


def stream_resampler(source: int, target: int) -> Any:
    """A resampler that keeps its state from chunk to chunk, float32 mono."""
    return _import_soxr().ResampleStream(source, target, 1, dtype="float32", quality="HQ")


def _import_soxr() -> Any:
    try:
        import soxr
    except ImportError:
        raise AudioError(
            "sound of another rate needs the package soxr, which is not installed",
            "Run: pip install 'voxring[local]'",
        ) from None
    return soxr
