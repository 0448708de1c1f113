"""A conversation over the binary protocol, through real scripted stages."""

import pytest

from pipeline.endpoint.server import Server
from pipeline.pipeline import Pipeline
from tests.pipeline.endpoint.running import Client, dial, run


@pytest.mark.parametrize("rate", [8000, 16_000, 24_000, 48_000])
def test_a_turn_is_heard_at_the_rate_that_was_asked_for(rate: int) -> None:
    async def work(server: Server, pipeline: Pipeline) -> Client:
        async with dial(server) as socket:
            client = Client(socket)
            ready = await client.start(rate)
            assert ready["rate"] == rate
            await client.ask(rate)
            return client

    client = run(work)
    assert client.events[-1]["outcome"] == "answered"
