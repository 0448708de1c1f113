"""The microphone and the loudspeaker of a conversation: opened, watched, opened again."""

from pipeline.config import AudioConfig
from pipeline.errors import AudioError
from stages.audio.device import portaudio
from stages.audio.device.devices import Device, Side, choose, choose_again
from stages.audio.device.options import DeviceOptions
from stages.audio.device.probe import find_devices
from stages.audio.device.stream import Stream, Way, can_be_one, way

SILENT_NS = 500_000_000  # a device that calls for nothing for so long is gone
START_NS = 3_000_000_000  # it may take so long to begin


def chosen(config: AudioConfig, devices: list[Device]) -> dict[Side, Device]:
    """The devices that a configuration means.

    Raises:
        AudioError: one cannot be told; with the list.
    """
    return {
        Side.INPUT: choose(devices, config.input, Side.INPUT),
        Side.OUTPUT: choose(devices, config.output, Side.OUTPUT),
    }


class SoundDevices:
    """Both devices, on one stream where that is possible.

    Args:
        config: which ones.
        options: how they are opened.
    """

    def __init__(self, config: AudioConfig, options: DeviceOptions) -> None:
        self._config = config
        self._options = options
        self._names: dict[Side, str] = {}  # of those that were opened last
        self._streams: dict[Side, Stream] = {}
        self._ways: dict[Side, Way] = {}
        self._calls: dict[Side, int] = {}
        self._called: dict[Side, int] = {}  # when calls were last seen, monotonic ns
        self._past_xruns = 0  # of streams that were closed

    @property
    def is_open(self) -> bool:
        """Whether streams are there."""
        return bool(self._streams)

    @property
    def is_one(self) -> bool:
        """Whether one stream goes both ways."""
        return len(set(map(id, self._streams.values()))) == 1

    @property
    def xruns(self) -> int:
        """Over- and underflows that the system has told of."""
        return self._past_xruns + sum(stream.port.xruns for stream in self._each())

    def stream(self, side: Side) -> tuple[Stream, Way]:
        """The stream of a side, and how it was opened."""
        return self._streams[side], self._ways[side]

    def open(self, *, look_again: bool = False) -> None:
        """Open both; they do not run yet.

        Those that were opened before are opened again, by name: numbers change.

        Args:
            look_again: devices may have come and gone since the last time.

        Raises:
            AudioError: one cannot be opened; then none is.
        """
        devices = portaudio.look_again() if look_again else portaudio.devices()
        if self._names:
            config = {side: getattr(self._config, side.value) for side in Side}
            found = {
                side: choose_again(devices, name, config[side], side)
                for side, name in self._names.items()
            }
        else:
            found = chosen(self._config, devices)
        self._ways = {side: way(found[side], side, self._options) for side in Side}
        self._streams = self._open(self._ways)
        self._names = {side: found[side].name for side in Side}

    def start(self, now: int) -> None:
        """Hear, and ask for sound, from now on.

        Raises:
            AudioError: one refuses; then both are closed.
        """
        try:
            for stream in self._each():
                stream.start()
        except AudioError:
            self.close()
            raise
        self._calls = dict.fromkeys(self._streams, 0)
        self._called = dict.fromkeys(self._streams, now + START_NS - SILENT_NS)

    def lost(self, now: int) -> Side | None:
        """The side whose device is gone; None: both are there."""
        for side, stream in self._streams.items():
            calls = stream.port.calls
            if calls != self._calls[side]:  # it has called: no need to ask PortAudio
                self._calls[side], self._called[side] = calls, now
            elif now - self._called[side] > SILENT_NS or not stream.is_active:
                return side
        return None

    def name(self, side: Side) -> str:
        """What people call the device of a side."""
        return f"the {side.thing} {self._names.get(side, '')!r}"

    @property
    def both(self) -> str:
        """What people call both devices."""
        names = set(self._names.values())
        if len(names) == 1:
            return f"the sound device {names.pop()!r}"
        return " and ".join(self.name(side) for side in Side)

    def close(self) -> None:
        """Let go of both."""
        self._past_xruns = self.xruns
        for stream in self._each():
            stream.close()
        self._streams = {}

    def _each(self) -> list[Stream]:
        return list(dict.fromkeys(self._streams.values()))

    @staticmethod
    def _open(ways: dict[Side, Way]) -> dict[Side, Stream]:
        """One stream if both sides have one clock and the system can do it, else two."""
        if can_be_one(ways[Side.INPUT], ways[Side.OUTPUT]):
            try:
                one = Stream(ways[Side.INPUT], ways[Side.OUTPUT])
            except AudioError:
                pass  # many drivers open each side, but not both as one
            else:
                return dict.fromkeys(Side, one)
        heard = Stream(ways[Side.INPUT])
        try:
            return {Side.INPUT: heard, Side.OUTPUT: Stream(ways[Side.OUTPUT])}
        except AudioError:
            heard.close()
            raise


async def check(config: AudioConfig) -> None:
    """Whether the devices of a configuration are there, before anything is started for them.

    Raises:
        AudioError: they are not, with the list; or PortAudio is not installed.
    """
    chosen(config, await find_devices())
