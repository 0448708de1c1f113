"""What `voxring talk` does, on the Python API alone: `python -m demos.microphone`."""

import argparse
import asyncio
import sys
from pathlib import Path

from pipeline import DeviceNotice, Fault, Pipeline, TurnEnded, UserText, VoxringError, load_config
from pipeline.client_lane import ClientLane


async def talk(file: Path | None, changes: list[str], clip: Path | None) -> None:
    """Hold a conversation until it is interrupted; with a clip, until that was answered."""
    edge = f"audio.stage={'file' if clip else 'device'}"
    config = load_config(file, [*changes, edge])
    async with Pipeline(config) as pipeline, await pipeline.open() as lane:
        print("speak, Ctrl-C ends it:")
        if clip:
            lane.play(clip)
        voice = asyncio.create_task(say_along(lane))
        async for event in lane:
            match event:
                case UserText(text=text, final=True):
                    print(f"you: {text}")
                case TurnEnded(timeline=timeline, heard=heard):
                    latency = timeline.first_audio_ms
                    after = "" if latency is None else f", {latency:.0f} ms"
                    print(f"\nheard: {heard} ({timeline.outcome.label}{after})")
                    if clip:
                        break
                case Fault(message=message) | DeviceNotice(message=message):
                    print(f"note: {message}")
        voice.cancel()


async def say_along(lane: ClientLane) -> None:
    """Print the words of an answer as they are heard."""
    said = ""
    while True:
        heard = lane.heard
        if heard.startswith(said):
            print(heard.removeprefix(said), end="", flush=True)
        said = heard
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m demos.microphone", description=__doc__)
    parser.add_argument("--config", type=Path, help="a TOML file; none: the defaults")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--clip", type=Path, help="recorded speech instead of the microphone")
    options = parser.parse_args()
    try:
        asyncio.run(talk(options.config, options.set, options.clip))
    except VoxringError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
