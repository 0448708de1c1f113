"""What the page says where it cannot talk: no place, no server, no token, no microphone."""

import pytest

from pipeline.endpoint.client import VoiceClient
from pipeline.endpoint.server import Server
from pipeline.pipeline import Pipeline
from tests.pipeline.endpoint.page.browsing import ALLOW_MICROPHONE, visit
from tests.pipeline.endpoint.running import config_for
from tests.pipeline.endpoint.serving import BUSY_IS_FINE, run

CONNECTED = "#connection[data-state=open]"
TOKEN = "correct-horse-battery-staple-0123456789"


def test_a_full_server_and_one_that_goes_away_are_told_and_tried_again() -> None:
    async def work(server: Server, pipeline: Pipeline) -> None:
        someone = await VoiceClient.connect(server.url)
        async with visit(server.url, ALLOW_MICROPHONE) as visitor:
            await visitor.press("Start")
            assert "full" in await visitor.until("#notice-text", "full")
            await someone.close()
            await visitor.press("Try now")
            await visitor.until(CONNECTED)
            assert not await visitor.page.locator("#notice").is_visible()
            await server.drain()
            await visitor.until("#connection-text", "Next try in")
            await visitor.until("#notice-text", "about to end")

    run(work, "pipeline.lanes=1")


def test_a_server_that_comes_back_is_found_again_by_itself() -> None:
    async def work(server: Server, pipeline: Pipeline) -> None:
        port = int(server.url.rpartition(":")[2])
        async with visit(server.url, ALLOW_MICROPHONE) as visitor:
            await visitor.press("Start")
            await visitor.until(CONNECTED)
            await server.__aexit__(None, None, None)
            await visitor.until("#notice-text", "cannot be reached")
            async with Server(config_for(BUSY_IS_FINE, f"serve.port={port}")) as again:
                again.open_doors(pipeline)
                await visitor.until(CONNECTED)

    run(work)


def test_a_token_is_asked_for_until_it_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXRING_TOKENS", f"someone {TOKEN}")

    async def work(server: Server, pipeline: Pipeline) -> None:
        async with visit(server.url, ALLOW_MICROPHONE) as visitor:
            await visitor.press("Start")
            field = visitor.page.get_by_label("Token", exact=True)
            await field.fill("wrong")
            await visitor.press("Connect")
            await visitor.until("#token-reason", "not valid")
            await field.fill(TOKEN)
            await field.press("Enter")
            await visitor.until(CONNECTED)
            await visitor.press("End")
            await visitor.press("Start")  # it is known now
            await visitor.until(CONNECTED)
            await visitor.page.reload()
            await visitor.press("Start")
            await visitor.until(CONNECTED)

    run(work)


def test_a_microphone_that_is_refused_is_told() -> None:
    async def work(server: Server, pipeline: Pipeline) -> None:
        async with visit(server.url, "--deny-permission-prompts") as visitor:
            await visitor.press("Start")
            told = await visitor.until("#notice-text", "microphone")
            assert told.startswith("The microphone is not allowed here.")
            await visitor.press("Start")  # the page is as it was
            assert server.sessions == {}

    run(work)
