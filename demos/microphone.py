"""What `voxring talk` does, on the Python API alone: `python -m demos.microphone`."""

import argparse
import asyncio
import sys
from pathlib import Path

from rich.console import Console

from pipeline import Pipeline, VoxringError, load_config
from pipeline.replay import read_question
from pipeline.terminal.keys import Key
from pipeline.terminal.talk import Talk
from pipeline.terminal.terminal import Terminal


async def converse(file: Path | None, changes: list[str], clip: Path | None) -> bool:
    """Hold a conversation until q or Ctrl-C; with a clip, until that was answered.

    Returns:
        Whether the clip was not answered.
    """
    config = load_config(file, [*changes, f"audio.stage={'file' if clip else 'device'}"])
    whole = asyncio.current_task()
    assert whole
    has_quit = False

    def on_key(key: Key) -> None:
        nonlocal has_quit
        if key is Key.QUIT and not has_quit:
            has_quit = True
            whole.cancel()
        talk.press(key)  # m mute, space push to talk, i or Esc interrupt

    with Terminal(Console(), on_key, on_gone=whole.cancel) as terminal:
        talk = Talk(terminal.display, has_keys=terminal.has_keys)
        try:
            async with Pipeline(config) as pipeline, await pipeline.open() as lane:
                await talk.hold(lane, [read_question(clip)] if clip else [])
        except asyncio.CancelledError:
            if not has_quit:
                raise
    return bool(clip) and talk.failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m demos.microphone", description=__doc__)
    parser.add_argument("--config", type=Path, help="a TOML file; none: the defaults")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--clip", type=Path, help="recorded speech instead of the microphone")
    options = parser.parse_args()
    try:
        sys.exit(asyncio.run(converse(options.config, options.set, options.clip)))
    except VoxringError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except asyncio.CancelledError:  # SIGTERM, or the terminal was closed
        sys.exit(143)
