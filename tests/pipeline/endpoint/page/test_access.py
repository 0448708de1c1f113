"""Who cannot see, cannot use a mouse, or has a small screen can talk to it all the same."""

from pathlib import Path

import pytest

from pipeline.endpoint.server import Server
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.page.browsing import Visit, microphone, visit
from tests.pipeline.endpoint.serving import BUSY_IS_FINE

axe = pytest.importorskip("axe_playwright_python.async_playwright", reason="needs axe (extra dev)")

REPLY = "Yes."
SETTINGS = (f'llm.options={{replies=["{REPLY}"], ids_per_s=200}}', BUSY_IS_FINE)
NARROW = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
FOCUSED = "document.activeElement.id"


async def violations(visitor: Visit) -> list[str]:
    """What axe-core finds, in both colour schemes."""
    found = []
    for scheme in ("light", "dark"):
        await visitor.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        results = await axe.Axe().run(visitor.page)
        for fault in results.response["violations"]:
            places = [node["html"] for node in fault["nodes"]]
            found.append(f"{scheme}: {fault['id']}: {places}")
    return found


def test_the_whole_page_is_usable_by_keyboard_screen_reader_and_on_a_phone(
    house: House, tmp_path: Path
) -> None:
    flags = microphone(tmp_path / "question.wav", 0.7, seconds=1)

    async def work(server: Server) -> None:
        async with visit(server.url, *flags, width=360, height=740) as visitor:
            page = visitor.page
            assert await violations(visitor) == []
            assert await page.evaluate(NARROW)
            await page.keyboard.press("Tab")
            assert await page.evaluate("document.activeElement.className") == "skip"
            await page.keyboard.press("Enter")
            await page.keyboard.press("Tab")
            await page.locator("#talk").focus()
            await page.keyboard.press("Enter")
            await visitor.until("#activity", "Listening")
            assert await page.evaluate(FOCUSED) == "mute"
            await page.get_by_role("img", name="First sound after").wait_for()
            assert await violations(visitor) == []
            assert await page.evaluate(NARROW)
            order = []
            for _ in range(3):
                order.append(await page.evaluate(FOCUSED))
                await page.keyboard.press("Tab")
            assert order == ["mute", "talk", "interrupt"]

    house.run(work)


def test_space_mutes_and_held_down_it_is_push_to_talk_whatever_the_pauses(
    house: House, tmp_path: Path
) -> None:
    flags = microphone(tmp_path / "pause.wav", 2.5, 0.9, seconds=0.7)

    async def work(server: Server) -> None:
        async with visit(server.url, *flags) as visitor:
            page = visitor.page
            mute = page.get_by_role("button", name="Mute")
            await page.locator("#talk").press("Enter")
            await visitor.until("#activity", "Listening")
            await page.keyboard.press("Space")
            assert await mute.get_attribute("aria-pressed") == "true"
            assert await visitor.until("#activity") == "Muted"
            assert await visitor.until("#announcer", "Muted")
            await page.keyboard.down("Space")
            assert await mute.get_attribute("aria-pressed") == "false"
            await visitor.until("#activity", "Hearing you")
            await page.wait_for_timeout(2500)  # both halves, and the pause between them
            assert await page.locator(".reply:visible").count() == 0
            await page.keyboard.up("Space")
            assert await mute.get_attribute("aria-pressed") == "true"
            await visitor.until(".reply p", REPLY)
            assert await page.locator(".turn").count() == 1

    house.run(work)
