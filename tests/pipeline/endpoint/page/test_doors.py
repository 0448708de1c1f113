"""What the page says where it cannot talk: no place, no server, no token, no microphone."""

import os
import signal

import pytest

from pipeline.endpoint.client import VoiceClient
from pipeline.endpoint.server import Server
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.page.browsing import ALLOW_MICROPHONE, visit
from tests.pipeline.endpoint.serving import BUSY_IS_FINE, another_server
from tests.pipeline.running import back

CONNECTED = "#connection[data-state=open]"
TOKEN = "correct-horse-battery-staple-0123456789"
SETTINGS = ("pipeline.lanes=1", BUSY_IS_FINE)


def test_a_full_server_is_told_and_tried_again(house: House) -> None:
    async def work(server: Server) -> None:
        await house.idle()
        someone = await VoiceClient.connect(server.url)
        async with visit(server.url, ALLOW_MICROPHONE) as visitor:
            await visitor.press("Start")
            await visitor.until("#notice-text", "full")
            await visitor.until("#connection-text", "Next try in")
            await someone.close()
            await house.idle()
            await visitor.press("Try now")
            await visitor.until(CONNECTED)
            assert not await visitor.page.locator("#notice").is_visible()

    house.run(work)


def test_a_server_that_ends_is_told_and_found_again_when_it_is_back(house: House) -> None:
    async def work(_: Server) -> None:
        await house.idle()
        async with another_server(house) as server, visit(server.url, ALLOW_MICROPHONE) as visitor:
            await visitor.press("Start")
            await visitor.until(CONNECTED)
            port = server.url.rpartition(":")[2]
            await server.drain()
            await visitor.until("#notice-text", "about to end")
            await server.close()
            await visitor.until("#notice-text", "cannot be reached")
            async with another_server(house, f"serve.port={port}"):
                await visitor.until(CONNECTED)

    house.run(work)


def test_a_token_is_asked_for_until_it_is_right(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXRING_TOKENS", f"someone {TOKEN}")

    async def work(_: Server) -> None:
        await house.idle()
        async with another_server(house) as server, visit(server.url, ALLOW_MICROPHONE) as visitor:
            await visitor.press("Start")
            field = visitor.page.get_by_label("Token", exact=True)
            await field.fill("wrong")
            await visitor.press("Connect")
            await visitor.until("#token-reason", "not valid")
            await field.fill(TOKEN)
            await field.press("Enter")
            await visitor.until(CONNECTED)
            await visitor.press("End")
            await house.idle()
            await visitor.page.reload()
            await visitor.press("Start")  # it is still known
            await visitor.until(CONNECTED)

    house.run(work)


def test_a_microphone_that_is_refused_is_told(house: House) -> None:
    async def work(server: Server) -> None:
        await house.idle()
        async with visit(server.url, "--deny-permission-prompts") as visitor:
            await visitor.press("Start")
            told = await visitor.until("#notice-text", "microphone")
            assert told.startswith("The microphone is not allowed here.")
            await visitor.page.get_by_role("button", name="Start", exact=True).wait_for()
            assert server.sessions == {}

    house.run(work)


def test_a_conversation_that_may_last_no_longer_is_told_and_begun_again(house: House) -> None:
    async def work(_: Server) -> None:
        await house.idle()
        async with (
            another_server(house, "serve.session_s=1.5") as server,
            visit(server.url, ALLOW_MICROPHONE) as visitor,
        ):
            await visitor.press("Start")
            await visitor.until("#notice-text", "as long as one may")
            await house.idle()
            await visitor.press("Start again")
            await visitor.until(CONNECTED)

    house.run(work)


def test_a_stage_that_dies_is_told_and_the_conversation_goes_on(house: House) -> None:
    async def work(server: Server) -> None:
        await house.idle()
        async with visit(server.url, ALLOW_MICROPHONE) as visitor:
            await visitor.press("Start")
            await visitor.until(CONNECTED)
            old = house.pipeline.stages["llm"]
            os.kill(old, signal.SIGKILL)
            await visitor.until("#notice-text", "stage llm")
            await back(house.pipeline, "llm", old)
            await visitor.until(CONNECTED)

    house.run(work)
