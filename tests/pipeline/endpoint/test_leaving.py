"""Peers that send much and leave at once: what nobody has read must not hide their end."""

import json

import pytest

from pipeline.endpoint.server import READ_QUEUE, Server
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.running import dial

SETTINGS = ("pipeline.lanes=8", "serve.max_load=0")
CLEAR = json.dumps({"type": "input_audio_buffer.clear"})


@pytest.mark.parametrize("count", [READ_QUEUE - 1, READ_QUEUE + 1, 4 * READ_QUEUE])
def test_a_peer_that_leaves_with_a_full_queue_leaves_its_place(house: House, count: int) -> None:
    async def work(server: Server) -> None:
        for _ in range(3):
            async with dial(server, "/v1/realtime?model=m") as socket:
                await socket.recv()
                for _ in range(count):
                    await socket.send(CLEAR)
        await house.idle()

    house.run(work)
