"""Which devices there are, and which one is meant: pure."""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pipeline.errors import AudioError

ANY_CHANNELS = 32  # what is said to have so many is a mixer in software, which takes any number
NUMBER = re.compile(r" \(hw:[^)]*\)$")  # of a card, in ALSA's names
NO_DEVICE = "this machine has no sound device that can be used"
NO_DEVICE_REMEDY = (
    "Connect one, and see docs/devices.md; recorded clips need none: voxring replay CLIP"
)


class Side(StrEnum):
    """Which way sound goes."""

    INPUT = "input"
    OUTPUT = "output"

    @property
    def thing(self) -> str:
        """What people call it."""
        return "microphone" if self is Side.INPUT else "loudspeaker"


@dataclass(frozen=True)
class Device:
    """A device as PortAudio tells it.

    Attributes:
        number: PortAudio's; it changes when devices come and go.
        host: the system's interface that it was found through, such as "ALSA".
        inputs, outputs: channels, at most.
        rate: its own, frames per second.
        input_latency, output_latency: s, the lowest that is said to be safe.
        is_default_input, is_default_output: the system's choice.
    """

    number: int
    name: str
    host: str
    inputs: int
    outputs: int
    rate: int
    input_latency: float = 0.0
    output_latency: float = 0.0
    is_default_input: bool = False
    is_default_output: bool = False

    def channels(self, side: Side) -> int:
        """How many it has at most on a side."""
        return self.inputs if side is Side.INPUT else self.outputs

    @property
    def is_mixer(self) -> bool:
        """Whether it is one in software, of a sound server."""
        return max(self.inputs, self.outputs) >= ANY_CHANNELS

    def is_default(self, side: Side) -> bool:
        """Whether the system would choose it."""
        return self.is_default_input if side is Side.INPUT else self.is_default_output


def channels_to_open(device: Device, side: Side) -> int:
    """Channels that a stream asks for: the device's own, where it has any of its own.

    A microphone of many channels is opened with all of them, because many drivers refuse fewer; a
    voice goes to the first two loudspeakers. A mixer in software gets what is natural: one channel
    of a microphone, two of a loudspeaker.
    """
    most = device.channels(side)
    if side is Side.INPUT:
        return 1 if most >= ANY_CHANNELS else most
    return min(most, 2)


def choose(devices: Sequence[Device], wanted: int | str, side: Side) -> Device:
    """The device that is meant.

    Args:
        wanted: its number, or part of its name; "": the system's default.

    Raises:
        AudioError: there is none, or a name means several; with the list.
    """
    able = [device for device in devices if device.channels(side)]
    if not able:
        raise AudioError(
            NO_DEVICE if not devices else f"there is no {side.thing}", NO_DEVICE_REMEDY
        )
    if wanted == "":
        return next((device for device in able if device.is_default(side)), able[0])
    if str(wanted).isdecimal():
        found = [device for device in able if device.number == int(wanted)]
    else:
        found = _named(able, str(wanted))
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} {side.thing}s are" if found else f"there is no {side.thing}"
    key = f"audio.{side}"
    raise AudioError(
        f"{what} called {wanted!r} ({key})", f"Set {key} to one of: {listed(found or able)}"
    )


def choose_again(devices: Sequence[Device], name: str, wanted: int | str, side: Side) -> Device:
    """The device that was open before, or, where the default was meant, today's.

    ALSA writes the number of a card into its name, "USB Audio (hw:1,0)", and numbers change when a
    device is plugged in again.

    Args:
        name: of the one that was open.
        wanted: as it is configured.

    Raises:
        AudioError: it is not there, or a name means several; with the list.
    """
    if wanted == "":
        return choose(devices, wanted, side)
    names = [name, NUMBER.sub("", name), *([] if str(wanted).isdecimal() else [str(wanted)])]
    for each in names[:-1]:
        with contextlib.suppress(AudioError):
            return choose(devices, each, side)
    return choose(devices, names[-1], side)


def _named(devices: Sequence[Device], wanted: str) -> list[Device]:
    """Those of exactly that name, else those whose name has it as a part; the first host wins.

    The same device is often found through several interfaces of the system; PortAudio lists the
    one that it prefers first.
    """
    exact = [device for device in devices if device.name == wanted]
    part = [device for device in devices if wanted.lower() in device.name.lower()]
    found = exact or part
    return [device for device in found if device.host == found[0].host]


def listed(devices: Sequence[Device]) -> str:
    """Numbers and names on one line."""
    return "; ".join(f"{device.number} {device.name}" for device in devices)
