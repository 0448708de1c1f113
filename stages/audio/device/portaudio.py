"""PortAudio through `sounddevice`: only what needs a device loads it."""

from typing import Any

from pipeline.errors import AudioError, reason
from stages.audio.device.devices import Device

ADVICE = "Does the system's own sound work? See docs/devices.md"


def load() -> Any:
    """The module `sounddevice`, with PortAudio ready.

    Raises:
        AudioError: either is not installed, or PortAudio does not start.
    """
    try:
        import sounddevice
    except ImportError:
        raise AudioError(
            "sound devices need the package sounddevice, which is not installed",
            "Run: pip install 'voxring[talk]'",
        ) from None
    except OSError as error:  # the package is there, the library behind it is not
        raise AudioError(
            f"sound devices need PortAudio: {reason(error)}",
            "Install it: apt install libportaudio2, or your system's package of that library",
        ) from None
    except Exception as error:  # of a class that the module would have brought
        raise AudioError(f"PortAudio does not start: {reason(error)}", ADVICE) from None
    if not sounddevice._initialized:  # its own word on it; there is no public one
        _guarded(sounddevice, sounddevice._initialize)
    return sounddevice


def unload() -> None:
    """Let go of PortAudio and of the system's sound server; `load` starts it again."""
    sounddevice = load()
    while sounddevice._initialized:
        sounddevice._terminate()


def devices() -> list[Device]:
    """All devices, as PortAudio found them when it was loaded.

    Raises:
        AudioError: see `load`.
    """
    sounddevice = load()
    hosts = _guarded(sounddevice, sounddevice.query_hostapis)
    defaults = sounddevice.default.device
    found = _guarded(sounddevice, sounddevice.query_devices)
    usual = [_default(hosts, side, defaults) for side in ("input", "output")]
    return [
        Device(
            number=number,
            name=info["name"],
            host=hosts[info["hostapi"]]["name"],
            inputs=info["max_input_channels"],
            outputs=info["max_output_channels"],
            rate=round(info["default_samplerate"]),
            input_latency=info["default_low_input_latency"],
            output_latency=info["default_low_output_latency"],
            is_default_input=number == usual[0],
            is_default_output=number == usual[1],
        )
        for number, info in enumerate(found)
    ]


def look_again() -> list[Device]:
    """All devices that are there now; no stream may be open.

    Raises:
        AudioError: see `load`.
    """
    unload()
    return devices()


def _default(hosts: Any, side: str, defaults: Any) -> int:
    """PortAudio's default device of a side; -1: there is none."""
    index = 0 if side == "input" else 1
    chosen = int(defaults[index])
    if chosen >= 0:
        return chosen
    found = (int(host[f"default_{side}_device"]) for host in hosts)
    return next((number for number in found if number >= 0), -1)


def _guarded(sounddevice: Any, call: Any) -> Any:
    """What PortAudio refuses, as an error of ours."""
    try:
        return call()
    except sounddevice.PortAudioError as error:
        raise AudioError(f"PortAudio: {reason(error)}", ADVICE) from None
