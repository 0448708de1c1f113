"""The page in a real browser, talking to a real endpoint on scripted stages."""

from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from pipeline.endpoint.server import Server
from stages.tts.tones import read_whole_tones
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.page.browsing import microphone, visit
from tests.pipeline.endpoint.serving import BUSY_IS_FINE

TONE_S = 0.06  # of each character
ASKED = "What do plants need to grow?"
REPLY = "Plants need light, water and a little air."
SETTINGS = (
    f'asr.options={{lines=["{ASKED}"]}}',
    f'llm.options={{replies=["{REPLY}"], ids_per_s=200}}',
    BUSY_IS_FINE,
)


def read(sound: NDArray[np.float32], rate: int) -> str:
    """The text that tones spell, each of which sounded to its end."""
    return bytes(read_whole_tones(np.round(sound * 32767).astype(np.int16), rate, TONE_S)).decode()


def test_a_question_is_heard_and_its_answer_sounds_and_is_written(
    house: House, tmp_path: Path
) -> None:
    flags = microphone(tmp_path / "question.wav", 0.7, seconds=1)

    async def work(server: Server) -> None:
        async with visit(server.url, *flags, with_tape=True) as visitor:
            await visitor.press("Start")
            bar = visitor.page.get_by_role("img", name="First sound after")
            await bar.wait_for()
            assert await visitor.until(".user p") == ASKED
            assert await visitor.until(".reply p") == REPLY
            told = await bar.get_attribute("aria-label") or ""
            assert "words recognised" in told
            assert "played by the browser" in told
            assert await visitor.page.locator(".note").count() == 0
            sound, rate = await visitor.heard()
            assert read(sound, rate) == REPLY
            assert np.sqrt(np.mean(np.square(sound[np.abs(sound) > 0.01]))) > 0.1
            assert visitor.complaints == []
            hosts = {urlsplit(address).netloc for address in visitor.requests}
            assert hosts == {urlsplit(server.url).netloc}

    house.run(work)


def test_an_answer_is_interrupted_by_voice_and_by_key_and_keeps_what_was_heard(
    house: House, tmp_path: Path
) -> None:
    flags = microphone(tmp_path / "two.wav", 0.7, 1.2, seconds=1)

    async def work(server: Server) -> None:
        async with visit(server.url, *flags, with_tape=True) as visitor:
            await visitor.press("Start")
            first = visitor.page.locator(".turn").nth(0)
            await first.get_by_text("interrupted").wait_for()
            second = visitor.page.locator(".turn").nth(1)
            await second.locator(".reply").get_by_text("Plants need").wait_for()
            await visitor.page.locator("#talk").focus()  # Esc works from anywhere
            await visitor.page.keyboard.press("Escape")
            await second.get_by_text("interrupted").wait_for()
            shown = [await turn.locator(".reply p").inner_text() for turn in (first, second)]
            written = [text.removesuffix("interrupted").strip() for text in shown]
            for text in written:
                assert REPLY.startswith(text)
                assert 0 < len(text) < len(REPLY)
            before = len((await visitor.heard())[0])
            await visitor.page.wait_for_timeout(500)
            sound, rate = await visitor.heard()
            assert len(sound) > before + 0.1 * rate
            assert not sound[before:].any()
            whole = read(sound, rate)
            second_begins = whole.index(REPLY[0], 1)
            heard = [whole[:second_begins], whole[second_begins:]]
            for text, tones in zip(written, heard, strict=True):
                assert REPLY.startswith(tones)
                sounded, told = (words.replace(" ", "") for words in (tones, text))
                assert abs(len(sounded) - len(told)) <= 1  # the letter that was cut
            assert visitor.complaints == []

    house.run(work)
