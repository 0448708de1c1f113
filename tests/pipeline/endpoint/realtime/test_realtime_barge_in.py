"""A voice over an answer, at the pace of real sound."""

import asyncio

import pytest
from openai import AsyncOpenAI

from pipeline.endpoint.server import Server
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.realtime.shapes import check
from tests.pipeline.endpoint.realtime.test_openai_python import RATE, REPLY, SPEECH, VAD, Talk

SETTINGS = (
    "serve.max_load=0",
    "tts.options={tone_ms = 100}",
    'asr.options={lines = ["What time is it?", "And now?"]}',
)
STARTED = "input_audio_buffer.speech_started"


async def say_slowly(t: Talk, data: bytes) -> None:
    """At the pace of a microphone."""
    step = RATE // 10 * 2
    for at in range(0, len(data), step):
        await t.say(data[at : at + step])
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("interrupts", [True, False])
def test_a_voice_over_an_answer(house: House, interrupts: bool) -> None:
    async def work(server: Server) -> None:
        client = AsyncOpenAI(api_key="unused", base_url=f"{server.url}/v1", max_retries=0)
        async with client, client.realtime.connect(model="m") as connection:
            t = Talk(connection)
            await t.until("session.created")
            detection = {**VAD, "interrupt_response": interrupts}
            await t.update(audio={"input": {"turn_detection": detection}})
            await t.say(SPEECH)
            await t.until("response.output_audio.delta")
            speaking = asyncio.create_task(say_slowly(t, SPEECH))
            done = await t.done()
            kinds = [e["type"] for e in t.told]
            audio = done["output"][0]["content"][0]["transcript"]
            if interrupts:
                assert done["status_details"]["reason"] == "turn_detected"
                assert REPLY.startswith(audio)
                assert len(audio) < len(REPLY), "what was heard"
                assert kinds.count(STARTED) == 2
                assert kinds.index("response.done") > len(kinds) - kinds[::-1].index(STARTED) - 1
                assert (await t.done())["status"] == "completed", "and it is answered"
            else:
                assert (done["status"], audio) == ("completed", REPLY)
                assert kinds.count(STARTED) == 1
            await speaking
            check(t.told)

    house.run(work)
