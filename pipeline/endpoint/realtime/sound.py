"""Sound between a client's format and the pipeline's rates: stateful, no I/O."""

import base64
import binascii
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.endpoint.realtime import g711
from stages.audio.convert import Converter, Format
from stages.topology import INPUT_RATE

Samples = NDArray[np.int16]


class Encoding(StrEnum):
    """How sound is written; the value is the protocol's name for it."""

    PCM = "audio/pcm"  # 16 bit, little-endian, 24 kHz
    MU_LAW = "audio/pcmu"  # 8 kHz
    A_LAW = "audio/pcma"  # 8 kHz

    @property
    def rate(self) -> int:
        """Samples per second."""
        return 24_000 if self is Encoding.PCM else 8_000

    @property
    def width(self) -> int:
        """Bytes of a sample."""
        return 2 if self is Encoding.PCM else 1

    def ms(self, size: int) -> float:
        """How long so many bytes sound."""
        return size * 1000 / (self.rate * self.width)

    def described(self) -> dict[str, Any]:
        """As a session shows it."""
        return {"type": str(self), "rate": self.rate} if self is Encoding.PCM else {"type": self}


class BadSoundError(ValueError):
    """It is not base64."""


@dataclass
class Ear:
    """From a client to what the pipeline hears.

    Args:
        encoding: of the client; another one begins another stream.
    """

    encoding: Encoding = Encoding.PCM

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """What comes next does not join what came before."""
        self._converter = Converter(Format(self.encoding.rate), INPUT_RATE)

    def ms(self, text: str) -> float:
        """How long base64 sounds, without a look at what it says."""
        return self.encoding.ms(len(text) // 4 * 3 - text[-2:].count("="))

    def hear(self, text: str) -> tuple[Samples, float]:
        """What base64 brings, int16 [n] at 16 kHz, and how long it sounds, ms.

        Raises:
            BadSoundError: it is no base64.
        """
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadSoundError(str(error)) from None
        if self.encoding is Encoding.PCM:
            pcm = data
        else:
            is_mu = self.encoding is Encoding.MU_LAW
            pcm = g711.decode(data, mu=is_mu).astype("<i2").tobytes()
        return self._converter.feed(pcm), self.encoding.ms(len(data))

    def rest(self) -> Samples:
        """What the resampler still has; the next sound is another stream."""
        rest = self._converter.finish()
        self.clear()
        return rest


class Mouth:
    """From the voice of one answer to a client.

    Args:
        encoding: of the client.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._converter: Converter | None = None
        self._rate = 0

    def say(self, samples: Samples, rate: int) -> bytes:
        """What is ready of int16 [n] at `rate`."""
        if rate == self.encoding.rate:
            return self._encode(samples)
        if self._converter is None or rate != self._rate:
            self._converter, self._rate = Converter(Format(rate), self.encoding.rate), rate
        return self._encode(self._converter.feed(samples.astype("<i2").tobytes()))

    def rest(self) -> bytes:
        """What the resampler still has: the end of the answer."""
        if self._converter is None:
            return b""
        rest, self._converter = self._converter.finish(), None
        return self._encode(rest)

    def _encode(self, samples: Samples) -> bytes:
        if self.encoding is Encoding.PCM:
            return samples.astype("<i2").tobytes()
        return g711.encode(samples, mu=self.encoding is Encoding.MU_LAW)
