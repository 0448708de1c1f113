"""What devices cannot say of themselves, or say wrongly: `audio.options` of the edge "device"."""

from typing import Literal

from pydantic import Field

from pipeline.frozen import Frozen


class DeviceOptions(Frozen):
    """How streams are opened.

    Attributes:
        latency_ms: of the device's own buffer, each way; less is quicker, and sooner too late.
        rate: frames per second; 0: what the device says is its own.
        input_channels, output_channels: 0: what it has.
        sample_format: "": what its kind of interface works in.
        one_stream: goes both ways where both sides are one device, also if it is a mixer in
            software. Through ALSA, PortAudio then polls without a pause now and then, a whole core.
    """

    latency_ms: float = Field(40.0, gt=0, le=500)
    rate: int = Field(0, ge=0, le=384_000)
    input_channels: int = Field(0, ge=0, le=64)
    output_channels: int = Field(0, ge=0, le=64)
    sample_format: Literal["", "int16", "float32"] = ""
    one_stream: bool = False
