"""Looks for devices in a program of its own: `python -P -m stages.audio.device.probe`.

Libraries of sound systems print what they like, keep threads and connections, and abort where a
configuration is broken. None of that is to happen in the program that asks.
"""

import json
import signal
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from pipeline.errors import AudioError
from stages.audio.device import portaudio
from stages.audio.device.devices import Device

LIMIT_S = 10.0  # a sound server that does not answer


def find_devices() -> list[Device]:
    """All devices that are there now.

    Raises:
        AudioError: PortAudio is not installed, or cannot look.
    """
    command = [sys.executable, "-P", "-m", __name__]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise AudioError(
            f"the sound system did not answer within {LIMIT_S:g} s", portaudio.ADVICE
        ) from None
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise AudioError(
            f"PortAudio {_ending(done.returncode)} while it looked for sound devices",
            portaudio.ADVICE,
        ) from None
    if "error" in told:
        raise AudioError(*told["error"])
    return [Device(**fields) for fields in told["devices"]]


def _ending(code: int) -> str:
    """How the program ended."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"


def main() -> int:
    """Print the devices, or why there are none, as JSON."""
    try:
        told: dict[str, Any] = {"devices": [asdict(device) for device in portaudio.devices()]}
    except AudioError as error:
        told = {"error": [error.message, error.remedy]}
    sys.stdout.write(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
