"""An endpoint in a program of its own, for tests that share it: python -m ... OVERRIDE ..."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.config import load_config
from pipeline.endpoint.server import Server
from pipeline.pipeline import Pipeline
from tests.pipeline.endpoint.running import config_for

MODELS = "models"  # the first argument for the real ones
ROOT = Path(__file__).parents[4]
START_S = 90


async def main(overrides: list[str]) -> None:
    """Serve until the standard input ends."""
    if overrides[0] == MODELS:
        config = load_config(None, ["audio.stage=client", "serve.port=0", *overrides[1:]])
    else:
        config = config_for(*overrides)
    async with Server(config) as server, Pipeline(config) as pipeline:
        server.open_doors(pipeline)
        print(server.url, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def serving(*overrides: str) -> Iterator[str]:
    """Where it listens."""
    # The machine that runs the tests is busy with them: nobody is refused for that.
    command = [sys.executable, "-m", __name__, *overrides, "serve.max_load=0"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as program:  # type: ignore[call-overload]
        try:
            yield program.stdout.readline().strip()
        finally:
            try:
                program.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                program.kill()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
