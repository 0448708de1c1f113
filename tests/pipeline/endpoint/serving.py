"""An endpoint for one test."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pipeline.endpoint.server import Server
from pipeline.pipeline import Pipeline
from tests.pipeline.endpoint.running import DEADLINE_S, config_for

T = TypeVar("T")
BUSY_IS_FINE = "serve.max_load=0"  # the machines that run this are shared


def run(work: Callable[[Server, Pipeline], Awaitable[T]], *overrides: str) -> T:
    """Do something with a running endpoint on scripted stages, within a deadline."""

    async def main() -> T:
        config = config_for(BUSY_IS_FINE, *overrides)
        async with (
            asyncio.timeout(DEADLINE_S),
            Server(config) as server,
            Pipeline(config) as pipeline,
        ):
            server.open_doors(pipeline)
            return await work(server, pipeline)

    return asyncio.run(main())
