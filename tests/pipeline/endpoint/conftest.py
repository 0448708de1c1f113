"""One endpoint for all tests of a file."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from pipeline.endpoint.server import Server
from pipeline.pipeline import Pipeline
from tests.pipeline.endpoint.running import DEADLINE_S, config_for


@dataclass
class House:
    """A running endpoint; its loop runs while a test does something with it."""

    runner: asyncio.Runner
    server: Server
    pipeline: Pipeline

    def run(self, work: Callable[[Server], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            async with asyncio.timeout(DEADLINE_S):
                return await work(self.server)

        return self.runner.run(main())

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        target = urlsplit(self.server.url)
        assert target.hostname
        assert target.port
        return target.hostname, target.port

    async def idle(self) -> None:
        """Wait until nobody is there, and every lane is free again."""
        places = self.server.state.places
        async with asyncio.timeout(10):
            while places.taken or self.server.sessions or self.pipeline.lanes:
                await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    """With the settings that the module names in SETTINGS."""
    config = config_for(*getattr(request.module, "SETTINGS", ()))
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def enter() -> House:
            server = await stack.enter_async_context(Server(config))
            pipeline = await stack.enter_async_context(Pipeline(config))
            server.open_doors(pipeline)
            return House(runner, server, pipeline)

        async def leave() -> None:
            made.server.state.is_draining = True
            await made.server.close()
            await stack.aclose()

        made = runner.run(enter())
        yield made
        runner.run(leave())
