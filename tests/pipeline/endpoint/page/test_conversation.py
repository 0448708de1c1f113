"""The page in a real browser, talking to a real endpoint on scripted stages."""

from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import soxr
from numpy.typing import NDArray

from pipeline.endpoint.client import VoiceClient
from pipeline.endpoint.client_events import Sound, TurnEnded
from pipeline.endpoint.server import Server
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.page.browsing import microphone, visit
from tests.pipeline.endpoint.running import loud, quiet
from tests.pipeline.endpoint.serving import BUSY_IS_FINE

RATE = 24_000
ASKED = "What do plants need to grow?"
REPLY = "Plants need light, water and a little air."
SETTINGS = (
    f'asr.options={{lines=["{ASKED}"]}}',
    f'llm.options={{replies=["{REPLY}"], ids_per_s=200}}',
    "pipeline.lanes=2",
    BUSY_IS_FINE,
)


async def answer_to_a_client(url: str) -> NDArray[np.int16]:
    """The same answer's sound, as it comes over the network."""
    pieces = []
    async with await VoiceClient.connect(url, rate=RATE) as client:
        await client.feed(np.frombuffer(loud(0.4, RATE) + quiet(0.6, RATE), np.int16))
        async for event in client:
            if isinstance(event, Sound):
                pieces.append(event.samples)
            if isinstance(event, TurnEnded):
                return np.concatenate(pieces)
    raise AssertionError("the conversation was closed")


def likeness(sound: NDArray[np.floating], part: NDArray[np.floating]) -> float:
    """Correlation of `part` with the place in `sound` where it fits best: 1 if it is there."""
    size = len(sound) + len(part)
    products = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(part, size).conj(), size)
    start = int(np.argmax(products[: len(sound)]))
    there = sound[start : start + len(part)]
    part = part[: len(there)]
    return float(there @ part / np.sqrt((there @ there) * (part @ part)))


def test_a_question_is_heard_and_its_answer_sounds_and_is_written(
    house: House, tmp_path: Path
) -> None:
    flags = microphone(tmp_path / "question.wav", 0.7, seconds=1)

    async def work(server: Server) -> None:
        sent = await answer_to_a_client(server.url)
        async with visit(server.url, *flags) as visitor:
            await visitor.press("Start")
            bar = visitor.page.get_by_role("img", name="First sound after")
            await bar.wait_for()
            assert await visitor.until(".user p") == ASKED
            assert await visitor.until(".reply p") == REPLY
            told = await bar.get_attribute("aria-label") or ""
            assert "words recognised" in told
            assert "played by the browser" in told
            assert await visitor.page.locator(".note").count() == 0
            await visitor.page.wait_for_timeout(500)  # the tape's last block
            sound, rate = await visitor.heard()
            right = soxr.resample(sent / 32768, RATE, rate)
            assert likeness(sound, right) > 0.99
            assert np.sqrt(np.mean(np.square(right))) > 0.05
            beside = np.sum(np.square(sound)) - np.sum(np.square(right))
            assert beside < 0.02 * np.sum(np.square(right))  # and nothing else sounded
            assert visitor.complaints == []
            hosts = {urlsplit(address).netloc for address in visitor.requests}
            assert hosts == {urlsplit(server.url).netloc}

    house.run(work)


def test_an_answer_is_interrupted_by_voice_and_by_key_and_keeps_what_was_heard(
    house: House, tmp_path: Path
) -> None:
    flags = microphone(tmp_path / "two.wav", 0.7, 1.2, seconds=1)

    async def work(server: Server) -> None:
        async with visit(server.url, *flags) as visitor:
            await visitor.press("Start")
            first = visitor.page.locator(".turn").nth(0)
            await first.get_by_text("interrupted").wait_for()
            second = visitor.page.locator(".turn").nth(1)
            await second.locator(".reply").get_by_text("Plants need").wait_for()
            await visitor.page.locator("#talk").focus()  # Esc works from anywhere
            await visitor.page.keyboard.press("Escape")
            await second.get_by_text("interrupted").wait_for()
            for turn in (first, second):
                written = (await turn.locator(".reply p").inner_text()).removesuffix("interrupted")
                words = written.strip()
                assert REPLY.startswith(words)
                assert 0 < len(words) < len(REPLY.strip())
            await visitor.page.wait_for_timeout(800)  # two blocks of the tape
            before = len((await visitor.heard())[0])
            await visitor.page.wait_for_timeout(800)
            sound, _ = await visitor.heard()
            assert len(sound) > before
            assert not sound[before:].any()
            assert visitor.complaints == []

    house.run(work)
