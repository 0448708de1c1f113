"""The streams of a conversation: one for both ways where that is possible, else two."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError, reason
from stages.audio.convert import Encoding, Format
from stages.audio.device import portaudio
from stages.audio.device.devices import Device, Side, channels_to_open, listed
from stages.audio.device.options import DeviceOptions
from stages.audio.device.stamp import Stamp

if TYPE_CHECKING:
    from stages.audio.device._port import Port

CALL_MS = 16  # two calls bring a block of the lane; shorter ones cost more and bring nothing
CAPACITY_S = 4  # of sound that may wait on either side
INTEGER_HOSTS = ("ALSA", "OSS", "MME", "Windows DirectSound", "Windows WDM-KS")
ENCODINGS = {"int16": Encoding.S16, "float32": Encoding.F32}
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Way:
    """One side of a stream as it is opened.

    Attributes:
        latency_s: that is asked for.
        forces_one: a mixer in software gets one stream too.
    """

    side: Side
    device: Device
    format: Format
    latency_s: float
    forces_one: bool = False

    @property
    def sample_format(self) -> str:
        """As sounddevice calls it."""
        return "int16" if self.format.encoding is Encoding.S16 else "float32"


def way(device: Device, side: Side, options: DeviceOptions) -> Way:
    """How a device is opened: at its own rate and in its own format.

    PortAudio does not tell a device's sample format, but each interface of a system has one that it
    works in; to a device that has only a wider one, PortAudio widens samples without a loss.
    """
    asked = options.input_channels if side is Side.INPUT else options.output_channels
    safe = device.input_latency if side is Side.INPUT else device.output_latency
    native = "int16" if device.host in INTEGER_HOSTS else "float32"
    encoding = ENCODINGS[options.sample_format or native]
    channels = asked or channels_to_open(device, side)
    form = Format(options.rate or device.rate, channels, encoding)
    latency_s = max(safe, options.latency_ms / 1000)
    return Way(side, device, form, latency_s, options.one_stream)


def can_be_one(one: Way, other: Way) -> bool:
    """Whether both sides run on one clock: the same device, at one rate.

    A sound server has no clock of its own: its two sides are as far apart as what is behind them.
    """
    if one.device.is_mixer and not one.forces_one:
        return False
    same = one.device.number == other.device.number or (
        one.device.host == other.device.host and one.device.name == other.device.name
    )
    return same and one.format.rate == other.format.rate


class Stream:
    """A stream that runs, and the port it shares with its callback.

    Args:
        ways: one side, or both, of one device.

    Raises:
        AudioError: it cannot be opened.
    """

    def __init__(self, *ways: Way) -> None:
        from stages.audio.device import _port

        by_side = {each.side: each for each in ways}
        self._ways = by_side
        rate = ways[0].format.rate
        heard, played = (
            by_side[side].format.frame_bytes if side in by_side else 0 for side in Side
        )
        self.port = _port.Port(heard, played, 1 << (CAPACITY_S * rate - 1).bit_length())
        self._sounddevice = portaudio.load()
        try:
            self._stream = self._open(_port.CALLBACK, rate)
        except (self._sounddevice.PortAudioError, ValueError) as error:
            raise AudioError(_refused(ways, error), _remedy(ways)) from None
        latency = self._stream.latency
        both = latency if isinstance(latency, tuple) else (latency, latency)
        self._input_ns, self._output_ns = (round(seconds * SECOND) for seconds in both)

    @property
    def is_active(self) -> bool:
        """Whether PortAudio still takes it for running."""
        try:
            return bool(self._stream.active)
        except self._sounddevice.PortAudioError:
            return False

    def start(self) -> None:
        """Hear, and ask for sound, from now on.

        Raises:
            AudioError: the device refuses.
        """
        try:
            self._stream.start()
        except self._sounddevice.PortAudioError as error:
            ways = tuple(self._ways.values())
            raise AudioError(_refused(ways, error), _remedy(ways)) from None

    def stamps(self) -> list[Stamp]:
        """What the calls since the last time moved."""
        return read_stamps(self.port, self._input_ns, self._output_ns)

    def close(self) -> None:
        """Stop at once, and let go of the device; what waits in it is not played."""
        self._stream.abort()
        self._stream.close()

    def _open(self, callback: int, rate: int) -> Any:
        sounddevice = self._sounddevice
        ffi = sounddevice._ffi
        ways = self._ways
        kind = "duplex" if len(ways) == 2 else next(iter(ways)).value

        def each(value: Callable[[Way], Any]) -> Any:
            values = tuple(value(ways[side]) for side in Side if side in ways)
            return values if kind == "duplex" else values[0]

        # The class for callbacks that are not Python's, as its documentation says.
        return sounddevice._StreamBase(
            kind,
            samplerate=rate,
            blocksize=-(-rate * CALL_MS // 1000),
            device=each(lambda way: way.device.number),
            channels=each(lambda way: way.format.channels),
            dtype=each(lambda way: way.sample_format),
            latency=each(lambda way: way.latency_s),
            callback=ffi.cast("PaStreamCallback*", callback),
            userdata=ffi.cast("void*", self.port.address),
        )


def read_stamps(port: "Port", input_ns: int, output_ns: int) -> list[Stamp]:
    """What calls moved.

    Args:
        input_ns, output_ns: latency, where the system does not stamp.
    """
    return [
        Stamp(at, at + (adc or -input_ns), at + (dac or output_ns), *moved)
        for at, adc, dac, *moved, _ in port.stamps()
    ]


def frames_of(voice: NDArray[np.float32], form: Format) -> bytes:
    """A voice, float32 [n] of full scale 1.0, on every channel of a device, in its encoding."""
    if form.encoding is Encoding.S16:
        scaled = np.rint(voice * np.float32(32768)).clip(-32768, 32767)
        samples: NDArray[np.int16] | NDArray[np.float32] = scaled.astype("<i2")
    else:
        samples = voice.clip(-1.0, 1.0).astype("<f4")
    return np.repeat(samples, form.channels).tobytes()


def _refused(ways: tuple[Way, ...], error: Exception) -> str:
    names = " and ".join(f"{way.side.thing} {way.device.name!r}" for way in ways)
    form = ways[0].format
    why = reason(error).removeprefix("Error opening _StreamBase: ")
    return f"{names} cannot be opened at {form.rate} Hz: {why}"


def _remedy(ways: tuple[Way, ...]) -> str:
    """The other devices of that side."""
    side, refused = ways[0].side, ways[0].device.name
    others = [d for d in portaudio.devices() if d.channels(side) and d.name != refused]
    return f"Is another program using it? Set audio.{side} to one of: {listed(others)}"
