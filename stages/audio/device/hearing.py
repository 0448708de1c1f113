"""From the device's frames to the blocks of a lane: resampled, freed of echo, kept to the clock."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.audio.convert import Format
from stages.audio.device.arrivals import Arrivals
from stages.audio.device.drift import Drift, Quiet, dbfs
from stages.audio.device.ear import Ear
from stages.audio.device.echo import (
    AHEAD,
    FRAME,
    EchoLoss,
    Pairing,
    Played,
    Processor,
)
from stages.audio.device.playhead import Playhead
from stages.audio.device.stamp import Stamp
from stages.topology import INPUT_BLOCK, INPUT_RATE

Samples = NDArray[np.int16]
SOFTER = 100  # 40 dB
REST_FRAMES = 100  # of silence, behind which the canceller rests: no room rings for a second


@dataclass(frozen=True)
class Heard:
    """A block of the microphone.

    Attributes:
        samples: int16 [512], 16 kHz.
        at: monotonic ns at which the first of them was sound.
        level: dBFS.
    """

    samples: Samples
    at: int
    level: float


class Hearing:
    """The microphone of one opened device; pure.

    Args:
        source: the device's frames.
        processor: what improves the sound; None: nothing does.
        playhead: when frames of the loudspeaker sound; None: no echo is taken out.
        drift: of the lane's count, which outlives the device.
    """

    def __init__(
        self,
        source: Format,
        processor: Processor | None,
        playhead: Playhead | None,
        drift: Drift,
    ) -> None:
        self.ear = Ear(source)
        self._rate = source.rate
        self._arrivals = Arrivals(source.rate)
        self.loss = EchoLoss()
        self.pairing = Pairing()
        self.drift = drift
        self._processor = processor
        self._playhead = playhead
        self._played = Played(playhead.rate) if playhead else None
        self._given: list[NDArray[np.float32]] = []  # to the loudspeaker, not in `_played` yet
        self._xruns = 0
        self._quiet = Quiet()
        self._silent = REST_FRAMES  # frames for which nothing has been played
        self._clean = np.empty(0, np.int16)  # processed, less than a block

    def stamp(self, stamp: Stamp) -> None:
        """Follow one call of the input."""
        self.ear.stamp(stamp)
        self._arrivals.stamp(stamp)

    def played(self, frames: NDArray[np.float32]) -> None:
        """The loudspeaker was given this, float32 [n]."""
        self._given.append(frames)

    def blocks(self, frames: bytes, written: int) -> Iterator[Heard]:
        """The blocks that become whole with these frames.

        Args:
            frames: of the device, in its format.
            written: samples that the lane has had.
        """
        self.ear.feed(frames)
        if self._played and self._given:
            self._played.add(np.concatenate(self._given))
            self._given.clear()
        if not self.ear.clock.has_begun:
            return
        step = FRAME if self._processor else INPUT_BLOCK
        while self.ear.ahead >= step:
            self._clean = np.concatenate((self._clean, self._next(step)))
            while len(self._clean) >= INPUT_BLOCK:
                if (block := self._block(written)) is not None:
                    written += INPUT_BLOCK
                    yield block

    def disturbed(self, xruns: int) -> None:
        """So many times has the machine been too late for the device by now."""
        if xruns != self._xruns:
            self._xruns = xruns
            self.loss.forget()

    @property
    def wants_played(self) -> bool:
        """Whether it is of use to know what was played."""
        return self._played is not None

    def due(self, blocks: int = 1) -> int:
        """When the next blocks should be whole, monotonic ns."""
        missing = max(0, blocks * INPUT_BLOCK - len(self._clean) - self.ear.ahead)
        return self._arrivals.expected(-(-missing * self._rate // INPUT_RATE))

    def _next(self, count: int) -> Samples:
        sample = self.ear.count
        heard = self.ear.take(count)
        if self._processor is None:
            return heard
        if self._played is None:
            return self._processor.process(heard, None)
        played = self._sound_of(sample)
        self._silent = 0 if played.any() else self._silent + 1
        if self._silent > REST_FRAMES and self._processor.only_echo:
            return heard  # nothing to take out, and it costs as much as all the rest
        clean = self._processor.process(heard, played)
        self.loss.add(played, heard, clean)
        if not self.loss.has_learned and self.loss.is_sounding:
            clean = clean // SOFTER  # an echo that is not known yet would be taken for somebody
        return clean

    def _sound_of(self, sample: int) -> Samples:
        """What was played while a frame of the microphone was heard, and a little later."""
        assert self._played
        assert self._playhead
        if not self._playhead.clock.has_begun:
            return np.zeros(FRAME, np.int16)
        frame = self._playhead.clock.frame(self.ear.time(sample))
        by_stamps = self._played.sample(frame)
        is_silent = not self._played.take(by_stamps, FRAME).any()
        corrections = self.pairing.corrections
        start = self.pairing.find(sample, by_stamps, is_silent=is_silent)
        if self.pairing.corrections != corrections:
            self.loss.forget()
        return self._played.take(start + AHEAD, FRAME)

    def _block(self, written: int) -> Heard | None:
        """The next block, with what the clock misses put in; None: too much was left out."""
        level = dbfs(self._clean[:INPUT_BLOCK])
        is_quiet = self._quiet.feed(level)
        missing = self.drift.missing(written, self._time(), is_quiet=is_quiet)
        if missing > 0:  # the room's own sound, backwards, so that it joins
            tone = np.resize(self._clean[:INPUT_BLOCK][::-1], missing)
            self._clean = np.concatenate((tone, self._clean))
        elif missing < 0:
            self._clean = self._clean[-missing:]
        if len(self._clean) < INPUT_BLOCK:
            return None
        at = self._time()
        block, self._clean = self._clean[:INPUT_BLOCK], self._clean[INPUT_BLOCK:]
        return Heard(block, at, level)

    def _time(self) -> int:
        """When the first sample that is not yet in a block was sound."""
        return self.ear.time(self.ear.count - len(self._clean))
