"""A stage that dies under a response: the client is told, and the next one works."""

import os
import signal

import pytest
from openai import AsyncOpenAI

from pipeline.endpoint.server import Server
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.realtime.shapes import check
from tests.pipeline.endpoint.realtime.test_openai_python import REPLY, SYSTEM, Talk
from tests.pipeline.running import back

SETTINGS = ("serve.max_load=0", f"llm.system={SYSTEM}", "tts.options={tone_ms = 200}")


@pytest.mark.parametrize("stage", ["turn", "llm", "tts"])
def test_a_response_fails_with_its_stage_and_the_next_one_works(house: House, stage: str) -> None:
    async def work(server: Server) -> None:
        client = AsyncOpenAI(api_key="unused", base_url=f"{server.url}/v1", max_retries=0)
        async with client, client.realtime.connect(model="m") as connection:
            t = Talk(connection)
            await t.until("session.created")
            await t.update(instructions="Be.", output_modalities=["audio"])
            await t.type()
            await connection.response.create()
            await t.until("response.output_audio.delta")
            old = house.pipeline.stages[stage]
            os.kill(old, signal.SIGKILL)
            done = await t.done()
            assert done["status"] == "failed"
            errors = [e["error"] for e in t.told if e["type"] == "error"]
            assert errors[-1]["type"] == "server_error"
            assert errors[-1]["message"].startswith(f"stage {stage} ")
            await back(house.pipeline, stage, old)
            await connection.response.create(response={"output_modalities": ["text"]})
            done = await t.done()
            assert done["status"] == "completed"
            assert done["output"][0]["content"] == [{"type": "output_text", "text": REPLY}]
            before = len("Be.") + len("Hi") + 1
            assert done["usage"]["input_tokens"] >= before, "nothing was forgotten"
            check(t.told)

    house.run(work)
