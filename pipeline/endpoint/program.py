"""The program of the endpoint: `python -P -m pipeline.endpoint.program --fds socket=3,lifeline=4`.

`voxring serve` starts it, holds the socket that it listens on, and starts it again when it dies;
people do not. The configuration comes on standard input.
"""

import argparse
import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Sequence

from pipeline.commands.app import (
    FAILED,
    INTERRUPTED,
    MISTAKE,
    MISTAKES,
    TERMINATED,
    complain,
    stderr,
)
from pipeline.config import Config
from pipeline.endpoint.server import Server
from pipeline.errors import VoxringError
from pipeline.log_lines import JsonLines, TextLines, configure
from pipeline.pipeline import Pipeline
from pipeline.progress import StartProgress
from ringbuf import RingError, die_with_parent, lifeline

CRASHED = 70  # an error of the program: it is started again
log = logging.getLogger("voxring.endpoint")


async def serve(config: Config, listener: socket.socket, restarts: int = 0) -> None:
    """Serve until SIGTERM, and then until the turns that run have ended.

    A SIGTERM before it is ready, or a second one, ends it at once.

    Raises:
        ConfigError: something in `serve` is wrong.
        StageError: a stage cannot start, or has died too often.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    async with Server(config, listener, restarts) as server:
        with StartProgress(stderr) as progress:
            pipeline = Pipeline(config, progress)
            await pipeline.__aenter__()
        try:
            server.open_doors(pipeline)
            log.info("ready at %s", server.url)
            terminated = asyncio.Event()
            loop.add_signal_handler(signal.SIGTERM, terminated.set)
            await pipeline.unless_failed(terminated.wait())
            loop.add_signal_handler(signal.SIGTERM, task.cancel)
            log.info("draining, for %g s at most", config.serve.drain_s)
            await server.drain()
        finally:
            await server.close()
            await pipeline.__aexit__(None, None, None)
    log.info("ended")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the endpoint.

    Returns:
        The exit code of `voxring`, or CRASHED.
    """
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--fds", required=True)
    parser.add_argument("--restarts", type=int, default=0)
    options = parser.parse_args(arguments)
    fds = dict(item.split("=") for item in options.fds.split(","))
    lifeline(int(fds["lifeline"]))
    die_with_parent()
    config = Config.model_validate_json(sys.stdin.read())
    is_json = config.serve.log == "json"
    configure(JsonLines("serve") if is_json else TextLines(), config.pipeline.log_level)
    log.setLevel(min(logging.INFO, logging.getLogger().level))
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # see the guardian
        with socket.socket(fileno=int(fds["socket"])) as listener:
            asyncio.run(serve(config, listener, options.restarts))
    except (VoxringError, RingError) as error:
        complain(str(error))
        return MISTAKE if isinstance(error, MISTAKES) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except asyncio.CancelledError:
        return TERMINATED
    except Exception:
        log.exception("the endpoint has crashed")
        return CRASHED
    return 0


if __name__ == "__main__":
    sys.exit(main())
