"""A sound card in software, and the room it stands in, for what no real one can be asked twice.

It calls the callback as PortAudio would, with stamps of a clock of its own, and mixes what the
loudspeaker plays into the microphone: softer, later, and by way of the walls.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from stages.audio.convert import Encoding, Format
from stages.audio.device._port import Port
from stages.audio.device.devices import Device, Side
from stages.audio.device.stamp import Stamp
from stages.audio.device.stream import Way, read_stamps
from stages.audio.level import FULL_SCALE, amplitude
from stages.audio.room_tone import RoomTone

Frames = NDArray[np.float32]
SECOND = 1_000_000_000
RATE = 16_000  # of both sides: resampling is not what is asked here
CALL = RATE // 100  # frames of one call
REVERB_S = 0.25  # in which the room's sound falls by 60 dB
DIRECT = 0.5  # of the echo's energy comes straight


@dataclass
class Room:
    """What the microphone hears: somebody, the room, and the loudspeaker.

    Args:
        echo_db: level of the echo; None: there is none.
        delay_s: from the loudspeaker to the microphone, besides what the stamps tell.
    """

    echo_db: float | None = None
    delay_s: float = 0.0
    seed: int = 0
    played: int = 0  # frames
    said: int = 0  # frames of whoever speaks that are still to come
    _tone: RoomTone = field(default_factory=RoomTone)
    _waiting: Frames = field(default_factory=lambda: np.zeros(0, np.float32))

    def __post_init__(self) -> None:
        self._response = response(self.seed)
        self._delay = round(self.delay_s * RATE)

    def say(self, samples: NDArray[np.int16]) -> None:
        """Somebody speaks from now on, at 16 kHz."""
        self._mix(samples.astype(np.float32) / np.float32(FULL_SCALE))
        self.said = len(samples)

    def hear(self, played: Frames, at: int) -> None:
        """The loudspeaker plays this; what is heard at that instant comes `at` frames from now."""
        if self.echo_db is not None and played.any():
            echo = np.convolve(played, self._response) * np.float32(amplitude(self.echo_db))
            self._mix(echo.astype(np.float32), at + self._delay)
        self.played += len(played)

    def take(self, count: int) -> Frames:
        """The next frames."""
        block = self._tone.take(count).astype(np.float32) / np.float32(FULL_SCALE)
        now, self._waiting = self._waiting[:count], self._waiting[count:]
        block[: len(now)] += now
        self.said = max(0, self.said - count)
        return block

    def _mix(self, frames: Frames, at: int = 0) -> None:
        missing = at + len(frames) - len(self._waiting)
        if missing > 0:
            self._waiting = np.concatenate((self._waiting, np.zeros(missing, np.float32)))
        self._waiting[at : at + len(frames)] += frames


def response(seed: int) -> Frames:
    """Of a room, from the loudspeaker to the microphone: the direct sound and a tail of noise.

    The tail falls by 60 dB in `REVERB_S`, as sound in a furnished room does; all of it together has
    an energy of 1.
    """
    size = round(REVERB_S * RATE)
    tail = np.random.default_rng(seed).standard_normal(size)
    tail *= 10.0 ** (-3.0 * np.arange(size) / size)
    tail *= np.sqrt((1 - DIRECT) / np.sum(tail**2))
    tail[0] += np.sqrt(DIRECT)
    return tail.astype(np.float32)


class Card:
    """Both devices of a conversation on one stream: what `SoundDevices` is to real ones.

    Args:
        room: where it stands.
        now: the clock, monotonic ns.
        input_ns, output_ns: latency of each side.
        ppm: how much its crystal is too slow, in millionths.
    """

    def __init__(
        self,
        room: Room,
        now: Callable[[], int],
        *,
        input_ns: int = 10_000_000,
        output_ns: int = 20_000_000,
        ppm: float = 0.0,
    ) -> None:
        self.room = room
        self.is_open = False
        self.is_one = True
        self.is_active = False
        self.both = "the sound card"
        self.keeps = True
        self.refuses = 0  # so many times it does not start
        self.log: list[Frames] = []  # what was played, while it `keeps`
        self.calls_at: list[int] = []
        self._now = now
        self._latency = input_ns, output_ns
        self._period = CALL * SECOND / RATE * (1 + ppm * 1e-6)  # ns of a call
        self.port = Port(4, 4, 1 << 16)
        self._lock = threading.Lock()  # of the room: its clips come from another thread
        self._start = 0
        self._calls = 0

    @property
    def xruns(self) -> int:
        """As `SoundDevices`."""
        return self.port.xruns

    def stream(self, side: Side) -> tuple["Card", Way]:
        """It is its own stream."""
        device = Device(0, "card", "software", 1, 1, RATE)
        return self, Way(side, device, Format(RATE, 1, Encoding.F32), 0.0)

    def open(self, *, look_again: bool = False) -> None:
        """As `SoundDevices`."""
        self.port = Port(4, 4, 1 << 16)
        self.is_open = True

    def start(self, now: int) -> None:
        """As `SoundDevices`."""
        if self.refuses:
            self.refuses -= 1
            self.close()
            raise AudioError("the card does not start")
        self._start, self._calls, self.is_active = now, 0, True

    def lost(self, now: int) -> Side | None:
        """As `SoundDevices`."""
        return None if self.is_active else Side.INPUT

    def name(self, side: Side) -> str:
        """As `SoundDevices`."""
        return f"the {side.thing} of the card"

    def close(self) -> None:
        """As `SoundDevices`."""
        self.is_open = self.is_active = False

    def stamps(self) -> list[Stamp]:
        """As `Stream`."""
        return read_stamps(self.port, *self._latency)

    @property
    def due(self) -> int:
        """When the next call is, monotonic ns."""
        return self._start + round((self._calls + 1) * self._period)

    def call(self) -> None:
        """What PortAudio does once the next 10 ms are there."""
        at = self.due
        self._calls += 1
        with self._lock:
            heard = self.room.take(CALL)
        now = at / SECOND
        adc = now - CALL / RATE - self._latency[0] / SECOND
        data = self.port.call(
            heard.astype("<f4").tobytes(), CALL, at, 0, adc, now, now + self._latency[1] / SECOND
        )
        played = np.frombuffer(data, "<f4")
        with self._lock:
            self.room.hear(played, sum(self._latency) * RATE // SECOND)
        if self.keeps:
            self.log.append(played)
            self.calls_at.append(at)

    def say(self, samples: NDArray[np.int16]) -> int:
        """Somebody speaks, at 16 kHz; when the microphone hears the first sample, monotonic ns."""
        with self._lock:
            self.room.say(samples)
            return self.due - CALL * SECOND // RATE - self._latency[0]


def run_card(card: Card, stop: threading.Event) -> None:
    """Call at the card's pace until it is told to stop: the body of a thread."""
    while not stop.is_set():
        if not card.is_active:
            time.sleep(0.01)
            continue
        wait = (card.due - time.monotonic_ns()) / SECOND
        if wait > 0:
            time.sleep(wait)
        if card.is_active:
            card.call()
