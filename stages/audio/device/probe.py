"""Looks for devices in a program of its own: `python -P -m stages.audio.device.probe`.

Libraries of sound systems print what they like, keep threads and connections, and abort where a
configuration is broken. None of that is to happen in the program that asks, which goes on
meanwhile: whoever is asked to end must not wait for a sound server that hangs.
"""

import asyncio
import contextlib
import json
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import asdict
from typing import Any

from pipeline.errors import AudioError
from ringbuf import lifeline
from stages.audio.device import portaudio
from stages.audio.device.devices import Device

LIMIT_S = 10.0  # a sound server that does not answer


async def find_devices() -> list[Device]:
    """All devices that are there now.

    Raises:
        AudioError: PortAudio is not installed, or cannot look.
    """
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__),
        stdin=PIPE,  # at whose end it ends, however we do
        stdout=PIPE,
        stderr=DEVNULL,
        process_group=0,  # Ctrl-C is for the program that asks
    )
    try:
        async with asyncio.timeout(LIMIT_S):
            assert program.stdout
            out = await program.stdout.read()
            await program.wait()
    except TimeoutError:
        raise AudioError(
            f"the sound system did not answer within {LIMIT_S:g} s", portaudio.ADVICE
        ) from None
    finally:
        await _end(program)
    try:
        told: dict[str, Any] = json.loads(out)
    except ValueError:
        raise AudioError(
            f"PortAudio {_ending(program.returncode or 0)} while it looked for sound devices",
            portaudio.ADVICE,
        ) from None
    if "error" in told:
        raise AudioError(*told["error"])
    return [Device(**fields) for fields in told["devices"]]


async def _end(program: Process) -> None:
    if program.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            program.kill()
        await program.wait()


def _ending(code: int) -> str:
    """How the program ended."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"


def main() -> int:
    """Print the devices, or why there are none, as JSON; not for longer than somebody asks."""
    lifeline(sys.stdin.fileno())
    try:
        told: dict[str, Any] = {"devices": [asdict(device) for device in portaudio.devices()]}
    except AudioError as error:
        told = {"error": [error.message, error.remedy]}
    sys.stdout.write(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
