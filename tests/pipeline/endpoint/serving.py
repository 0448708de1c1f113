"""More endpoints in front of a pipeline that runs already: they start at once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pipeline.endpoint.server import Server
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.running import config_for

BUSY_IS_FINE = "serve.max_load=0"  # the machines that run this are shared


@asynccontextmanager
async def another_server(house: House, *overrides: str) -> AsyncIterator[Server]:
    """Open for as long as the block runs; its lanes are the house's."""
    async with Server(config_for(BUSY_IS_FINE, *overrides)) as server:
        server.open_doors(house.pipeline)
        yield server
        await server.close()
