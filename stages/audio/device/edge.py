"""The edge behind a microphone and a loudspeaker: one conversation at a time."""

import logging
import os
import sys

from pipeline.config import AudioConfig
from pipeline.errors import AudioError
from stages.audio.device.echo import Processor, WebRtc
from stages.audio.device.options import DeviceOptions
from stages.audio.device.session import DeviceSession
from stages.audio.device.sound_devices import SoundDevices
from stages.lane import Lane
from stages.stage import Host, Stage
from stages.topology import AUDIO


class DeviceAudio(Stage):
    """Serves the one lane that has the devices."""

    name = AUDIO

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._session: DeviceSession | None = None

    def load(self) -> None:
        """Try what can be tried without the devices.

        These are opened with a conversation: when this program is started again, the one that
        goes on may be waiting for a device that is unplugged.
        """
        self.options = self.host.options(DeviceOptions)
        if self.host.config.pipeline.log_level != "debug":
            hush_libraries()
        processor(self.config)

    def open(self, lane: Lane) -> "DeviceSession":
        """A new conversation: its microphone is on from now.

        Raises:
            AudioError: another one has the devices, or they cannot be opened.
        """
        if self._session is not None and self._session.is_running:
            raise AudioError(
                "the sound devices serve one conversation at a time", "Close the other one first"
            )
        devices = SoundDevices(self.config, self.options)
        self._session = DeviceSession(lane, self.host.now, self.config, devices, processor)
        return self._session


def hush_libraries() -> None:
    """Keep what ALSA and PortAudio print themselves out of a person's terminal.

    They write to descriptor 2, also from their own threads; our own words then go to a copy of it.
    """
    own = os.fdopen(os.dup(2), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    os.close(nothing)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
            handler.setStream(own)
    sys.stderr = own


def processor(config: AudioConfig) -> Processor | None:
    """What improves the microphone's sound, as configured.

    Raises:
        AudioError: its package is not installed.
    """
    is_cancelled = config.echo == "cancel"
    if not (is_cancelled or config.noise_suppression or config.gain_control):
        return None
    return WebRtc(echo=is_cancelled, noise=config.noise_suppression, gain=config.gain_control)
