"""The system's own Chromium, driven over its debugging protocol, with a recorded microphone."""

import base64
import mimetypes
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from numpy.typing import NDArray

playwright = pytest.importorskip("playwright", reason="needs playwright (extra dev)")
from playwright import async_api, sync_api  # noqa: E402

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "pipeline" / "endpoint" / "page"
QUESTION = ROOT / "demos" / "question.wav"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NOWHERE = "http://localhost"  # a secure origin whose files the test itself serves
DEADLINE_MS = 30_000
MICROPHONE_RATE = 48_000
FAKE_MICROPHONE = "--use-fake-device-for-media-stream"
ALLOW_MICROPHONE = "--use-fake-ui-for-media-stream"
BASE_FLAGS = ("--no-sandbox",)  # root has none

# Beside the loudspeaker, everything that the page plays is kept: window.heard, float32 blocks. The
# audio thread itself records, so that a busy page loses none.
TAPE = """
  const PROCESSOR = `registerProcessor("tape", class extends AudioWorkletProcessor {
    process([[block]]) {
      if (block) this.port.postMessage(block.slice());
      return true;
    }
  });`;
  const connect = AudioNode.prototype.connect;
  window.heard = [];
  async function record(source) {
    const context = source.context;
    const code = new Blob([PROCESSOR], { type: "text/javascript" });
    window.tapeRate = context.sampleRate;
    await context.audioWorklet.addModule(URL.createObjectURL(code));
    const tape = new AudioWorkletNode(context, "tape", { numberOfOutputs: 0 });
    tape.port.onmessage = ({ data }) => window.heard.push(data);
    connect.call(source, tape);
  }
  AudioNode.prototype.connect = function (target, ...rest) {
    if (target instanceof AudioDestinationNode) record(this);
    return connect.call(this, target, ...rest);
  };
"""
READ_TAPE = """
  async () => {
    const url = await new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.readAsDataURL(new Blob(window.heard));
    });
    return [window.tapeRate, url.slice(url.indexOf(",") + 1)];
  }
"""


def chromium() -> str:
    """Where the browser is; the test is skipped if there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return found


@contextmanager
def browser() -> Iterator[sync_api.Browser]:
    """A browser without a window."""
    path = chromium()
    with sync_api.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=list(BASE_FLAGS))
        try:
            yield launched
        finally:
            launched.close()


def serve_files(page: sync_api.Page, origin: str = NOWHERE) -> None:
    """Give the page its own files, and nothing else."""

    def answer(route: sync_api.Route) -> None:
        name = route.request.url.rpartition("/")[2] or "index.html"
        kind = mimetypes.guess_type(name)[0] or "text/plain"
        route.fulfill(body=(PAGE / name).read_bytes(), content_type=kind)

    page.route(f"{origin}/*", answer)


class Visit:
    """Somebody at the page.

    Attributes:
        page: in the browser.
        complaints: what the browser's console and the page's own errors said.
        requests: addresses that were asked for.
    """

    def __init__(self, page: async_api.Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(DEADLINE_MS)
        page.on("console", lambda message: self._complain(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    async def press(self, name: str) -> None:
        """A button, by what stands on it."""
        await self.page.get_by_role("button", name=name, exact=True).click()

    async def until(self, selector: str, text: str = "") -> str:
        """Wait until something with this text is shown; all of its text."""
        shown = self.page.locator(selector, has_text=text or None).last
        await shown.wait_for()
        return await shown.inner_text()

    async def heard(self) -> tuple[NDArray[np.float32], int]:
        """All that has gone to the loudspeaker, and its rate."""
        rate, data = await self.page.evaluate(READ_TAPE)
        return np.frombuffer(base64.b64decode(data), np.float32), round(rate)

    def _complain(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)


@asynccontextmanager
async def visit(
    url: str, *flags: str, width: int = 1280, height: int = 800, with_tape: bool = False
) -> AsyncIterator[Visit]:
    """Open the page; with a tape beside its loudspeaker, whose code the page would not allow."""
    path = chromium()
    async with async_api.async_playwright() as driver:
        args = [*BASE_FLAGS, FAKE_MICROPHONE, *flags]
        launched = await driver.chromium.launch(executable_path=path, args=args)
        page = await launched.new_page(
            viewport={"width": width, "height": height}, bypass_csp=with_tape
        )
        if with_tape:
            await page.add_init_script(TAPE)
        visitor = Visit(page)
        await page.goto(url)
        yield visitor
        await launched.close()


def microphone(path: Path, *pauses: float, seconds: float | None = None) -> tuple[str, ...]:
    """Flags of a microphone that hears the shipped question behind each pause, s, then little.

    Its sound begins when the page opens it, and is heard once; of the question, only so many
    seconds if they are given.
    """
    clip, rate = soundfile.read(QUESTION)
    clip = clip[: None if seconds is None else round(seconds * rate)]
    question = soxr.resample(clip, rate, MICROPHONE_RATE)
    noise = np.random.default_rng(1)
    pieces = []
    for pause in pauses:
        pieces += [noise.normal(0, 1e-4, round(pause * MICROPHONE_RATE)), question]
    pieces.append(noise.normal(0, 1e-4, MICROPHONE_RATE))
    soundfile.write(path, np.concatenate(pieces), MICROPHONE_RATE, subtype="PCM_16")
    return (ALLOW_MICROPHONE, f"--use-file-for-fake-audio-capture={path}%noloop")
