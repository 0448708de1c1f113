"""Open speakers: what the microphone hears of the loudspeaker is taken out.

The canceller (WebRTC's, in `livekit`) compares 10 ms of the microphone with 10 ms of what was
played. Which 10 ms belong together comes from the stamps of the stream: both ends know when each of
their frames was sound, so the only delay that is left to be found is that of the room.
"""

import math
from collections import deque
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from stages.audio.convert import Converter, Encoding, Format
from stages.audio.level import FULL_SCALE, amplitude
from stages.topology import INPUT_RATE

Samples = NDArray[np.int16]
FRAME = INPUT_RATE // 100  # 10 ms, the canceller's step
AHEAD_MS = 20  # of the loudspeaker's sound before the microphone's: stamps err, echoes come later
AHEAD = AHEAD_MS * INPUT_RATE // 1000
KEPT = 4 * INPUT_RATE  # samples of what was played that are kept
SLACK = INPUT_RATE // 50  # 20 ms: two clocks may part so far before they are set again
MEMORY_FRAMES = 300  # over which the loss is averaged, and in which a room is learned at the latest
RECENT = 50  # frames over which it must be
GOOD_DB = 15.0  # once, for the room to be known
TAIL_FRAMES = 25  # in which a room is silent again
AUDIBLE_DBFS = -50.0


class Played:
    """What the loudspeaker played, at 16 kHz, by the device's own frames; pure.

    Args:
        rate: of the device.
    """

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._converter = Converter(Format(rate, 1, Encoding.F32))
        self._samples = np.zeros(KEPT, np.int16)
        self._end = 0  # index behind the newest sample
        self._loud_end = 0  # index behind the newest one that is not zero, or a little more

    def add(self, frames: NDArray[np.float32]) -> None:
        """The device was given this, float32 [n]."""
        samples = self._converter.feed(frames.astype("<f4", copy=False).tobytes())
        indices = np.arange(self._end, self._end + len(samples)) % KEPT
        self._samples[indices] = samples
        self._end += len(samples)
        if samples.any():
            self._loud_end = self._end

    def sample(self, frame: int) -> int:
        """Which sample a frame of the device is."""
        return frame * INPUT_RATE // self._rate

    def take(self, start: int, count: int) -> Samples:
        """Samples, int16 [count]; silence where nothing is known."""
        if start >= self._loud_end:
            return np.zeros(count, np.int16)
        indices = np.arange(start, start + count)
        known = (indices >= max(0, self._end - KEPT)) & (indices < self._end)
        return np.where(known, self._samples[indices % KEPT], 0).astype(np.int16)


class Pairing:
    """Which sample of what was played belongs to a sample of the microphone: pure.

    Both count at the same pace, until the clocks have parted by more than 20 ms: then they are set
    again, in a silence of the loudspeaker, so that the canceller does not lose what it has learned.

    Attributes:
        corrections: how often they were set again.
    """

    def __init__(self) -> None:
        self.corrections = 0
        self._offset: int | None = None

    def find(self, sample: int, played: int, *, is_silent: bool) -> int:
        """The sample that was played while `sample` was heard.

        Args:
            sample: of the microphone.
            played: that was played at that time, by the stamps.
            is_silent: nothing sounds.
        """
        offset = played - sample
        if self._offset is None:
            self._offset = offset
        elif is_silent and abs(offset - self._offset) > SLACK:
            self._offset = offset
            self.corrections += 1
        return sample + self._offset


class EchoLoss:
    """Echo return loss enhancement: how much softer the echo has become. Pure.

    Over the last frames in which the loudspeaker was heard, the energy before over the energy
    behind the canceller, in dB. Somebody who speaks at the same time lowers it.

    Attributes:
        has_learned: the canceller knows the room: it has been good once, or had time enough where
            there is little to take out.
    """

    def __init__(self) -> None:
        self.has_learned = False
        self._energies: deque[tuple[float, float]] = deque()
        self._before = self._behind = 0.0  # sums over these
        self._loud = FRAME * (amplitude(AUDIBLE_DBFS) * FULL_SCALE) ** 2
        self._frames = 0  # loud ones, so far
        self._since = TAIL_FRAMES  # frames since the last loud one

    def add(self, played: Samples, before: Samples, behind: Samples) -> None:
        """One frame of each."""
        self._since += 1
        if _energy(played) < self._loud:
            return
        self._since = 0
        self._frames += 1
        self._remember(_energy(before), _energy(behind))
        if not self.has_learned:
            is_good = len(self._energies) >= RECENT and self._over(RECENT) >= GOOD_DB
            self.has_learned = is_good or self._frames >= MEMORY_FRAMES

    def forget(self) -> None:
        """Sound was lost or clocks were set: the canceller must find the room again."""
        self.has_learned = False
        self._frames = 0
        self._energies.clear()
        self._before = self._behind = 0.0

    @property
    def is_sounding(self) -> bool:
        """Whether the room may still ring with what was played."""
        return self._since < TAIL_FRAMES

    @property
    def db(self) -> float:
        """0 where nothing was heard yet."""
        return _loss_db(self._before, self._behind) if self._energies else 0.0

    def _remember(self, before: float, behind: float) -> None:
        self._energies.append((before, behind))
        self._before += before
        self._behind += behind
        if len(self._energies) > MEMORY_FRAMES:
            before, behind = self._energies.popleft()
            self._before -= before
            self._behind -= behind

    def _over(self, count: int) -> float:
        """Over the last `count` frames."""
        recent = list(islice(reversed(self._energies), count))
        return _loss_db(sum(before for before, _ in recent), sum(behind for _, behind in recent))


class Processor(Protocol):
    """What improves a microphone's sound.

    Attributes:
        only_echo: it leaves alone what has no echo in it.
    """

    only_echo: bool

    def process(self, heard: Samples, played: Samples | None) -> Samples:
        """10 ms of each, int16 [160]; `played` is None where no echo is taken out."""


class WebRtc:
    """WebRTC's audio processing module, of `livekit`.

    Args:
        echo: it takes out what was played.
        noise: it takes out what is steady.
        gain: it makes loud and soft voices alike.

    Raises:
        AudioError: the package is not installed.
    """

    def __init__(self, *, echo: bool, noise: bool, gain: bool) -> None:
        try:
            from livekit import rtc
        except ImportError:
            raise AudioError(
                "echo cancellation, noise suppression and gain control need the package livekit, "
                "which is not installed",
                "Run: pip install 'voxring[talk]', or set audio.echo = 'headphones'",
            ) from None
        self.only_echo = echo and not (noise or gain)
        self._frame: Any = rtc.AudioFrame
        self._module = rtc.AudioProcessingModule(
            echo_cancellation=echo,
            noise_suppression=noise,
            auto_gain_control=gain,
            high_pass_filter=echo or noise,
        )

    def process(self, heard: Samples, played: Samples | None) -> Samples:
        """10 ms of each, int16 [160]."""
        if played is not None:
            self._module.process_reverse_stream(self._framed(played))
            self._module.set_stream_delay_ms(AHEAD_MS)
        frame = self._framed(heard)
        self._module.process_stream(frame)
        return np.frombuffer(frame.data, np.int16).copy()

    def _framed(self, samples: Samples) -> Any:
        return self._frame(bytearray(samples.tobytes()), INPUT_RATE, 1, FRAME)


def _energy(samples: Samples) -> float:
    wide = samples.astype(np.float64)
    return float(wide @ wide)


def _loss_db(before: float, behind: float) -> float:
    return 10 * math.log10(max(before, 1.0) / max(behind, 1.0))
