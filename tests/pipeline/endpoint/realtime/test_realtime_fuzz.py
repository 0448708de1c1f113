"""A short form of the benchmark: messages right and wrong, beside somebody who talks."""

import asyncio

from openai import AsyncOpenAI

from benchmarks.realtime_fuzz import fuzz
from tests.pipeline.endpoint.realtime.serving import serving

COUNT = 1200
DEADLINE_S = 90


def test_every_message_is_answered_and_nobody_else_is_harmed() -> None:
    async def talk(url: str, until: asyncio.Event) -> int:
        """Somebody else's conversation meanwhile."""
        client, count = AsyncOpenAI(api_key="unused", base_url=f"{url}/v1", max_retries=0), 0
        async with client, client.realtime.connect(model="m") as connection:
            while not until.is_set() or not count:
                await connection.response.create(response={"output_modalities": ["text"]})
                async for event in connection:
                    if event.type == "response.done":
                        break
                    assert event.type != "error"
                assert event.type == "response.done"
                assert event.response.status == "completed"
                count += 1
        return count

    async def main(url: str) -> None:
        async with asyncio.timeout(DEADLINE_S):
            until = asyncio.Event()
            talking = asyncio.create_task(talk(url, until))
            tally = await fuzz(url.replace("http", "ws", 1), COUNT, seed=1, connections=2)
            until.set()
            assert await talking > 0
        assert tally["sent"] >= COUNT
        assert tally["errors"] > COUNT / 4
        assert tally["closes"] > 0
        assert (tally["unanswered"], tally["improper_closes"]) == (0, 0)

    with serving("serve.messages_per_s=100000", "pipeline.lanes=8") as url:
        asyncio.run(main(url))
