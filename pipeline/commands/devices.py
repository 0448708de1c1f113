"""`voxring devices`: the microphones and loudspeakers of this machine."""

import asyncio

from rich.table import Table
from rich.text import Text

from pipeline.commands.app import app, plainly, stdout
from pipeline.errors import AudioError
from stages.audio.device.devices import NO_DEVICE, NO_DEVICE_REMEDY, Device, Side, channels_to_open
from stages.audio.device.probe import find_devices


@app.command("devices")
@plainly
def devices_command() -> None:
    """List microphones and loudspeakers, with their native rates, channels and latency.

    A star is the system's default. Choose by number, or by part of a name:

    * `voxring devices`

    * `voxring talk --set audio.input=2 --set audio.output=headset`
    """
    devices = asyncio.run(find_devices())
    if not devices:
        raise AudioError(NO_DEVICE, NO_DEVICE_REMEDY)
    for side in Side:
        stdout.print(_table(devices, side))


def _table(devices: list[Device], side: Side) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("no.", justify="right", no_wrap=True)
    table.add_column(f"audio.{side}")
    table.add_column("through", no_wrap=True)
    table.add_column("Hz", justify="right", no_wrap=True)
    table.add_column("channels", justify="right", no_wrap=True)
    table.add_column("latency ms", justify="right", no_wrap=True)
    for device in devices:
        if device.channels(side):
            latency = device.input_latency if side is Side.INPUT else device.output_latency
            table.add_row(
                "*" if device.is_default(side) else "",
                str(device.number),
                Text(device.name),
                device.host,
                str(device.rate),
                str(channels_to_open(device, side)),
                f"{1000 * latency:.0f}",
            )
    return table
