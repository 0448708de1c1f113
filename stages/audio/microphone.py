"""A microphone made of files: room tone, and now and then a clip.

Pure: it yields blocks, whoever asks decides when.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.audio.clip import Clip
from stages.audio.convert import convert
from stages.audio.room_tone import RoomTone, noise_level
from stages.topology import INPUT_BLOCK, INPUT_RATE

SAMPLE_NS = 1_000_000_000 // INPUT_RATE  # 62,500 exactly


@dataclass(frozen=True)
class Recording:
    """A clip made ready to be heard.

    Attributes:
        samples: int16 [n], 16 kHz, mono.
        tone: what goes on after it, at the clip's own noise level.
        speech_end: index of the sample behind the last voiced one; None: nothing is said.
    """

    samples: NDArray[np.int16]
    tone: RoomTone
    speech_end: int | None = None


def record(clip: Clip, speech_end_s: float | None) -> Recording:
    """Convert a clip, once and whole."""
    end = None if speech_end_s is None else round(speech_end_s * INPUT_RATE)
    return Recording(convert(clip.samples, clip.rate), RoomTone(noise_level(clip)), end)


class Microphone:
    """An endless stream of blocks of 32 ms.

    Attributes:
        heard: samples yielded so far; the index of the next block's first sample.
        started: index of the first sample of the last clip, None before the first.
    """

    def __init__(self) -> None:
        self.heard = 0
        self.started: int | None = None
        self._tone = RoomTone()
        self._clip: Recording | None = None

    @property
    def is_playing(self) -> bool:
        """Whether a clip has not ended yet."""
        return self._clip is not None

    def play(self, clip: Recording) -> None:
        """Begin a clip with the next block, in place of what plays now."""
        self._clip, self.started = clip, self.heard

    def stop(self) -> None:
        """Leave the clip and go on with its room tone."""
        if self._clip is not None:
            self._tone = self._clip.tone
            self._clip = None

    def take(self) -> NDArray[np.int16]:
        """The next block, int16 [512]."""
        sound = np.zeros(0, np.int16)
        if self._clip is not None and self.started is not None:
            at = self.heard - self.started
            sound = self._clip.samples[at : at + INPUT_BLOCK]
            if at + INPUT_BLOCK >= self._clip.samples.size:
                self.stop()
        self.heard += INPUT_BLOCK
        if sound.size == INPUT_BLOCK:
            return sound
        return np.concatenate((sound, self._tone.take(INPUT_BLOCK - sound.size)))
