"""The report in a real browser: nothing overflows, everything is reached by keyboard."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.lab.report.page import render
from pipeline.lab.run import About, Check, Comparison
from tests.pipeline.lab.test_page import talks

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="there is no Chromium: apt-get install chromium"
)
PROBE = """<!doctype html><meta charset="utf-8">
<iframe id="page" src="report.html" width="{width}" height="900"></iframe>
<pre id="found"></pre>
<script>
addEventListener("load", () => {{
  const page = document.getElementById("page").contentDocument;
  const all = [...page.querySelectorAll("*")];
  const inside = (e) => e.closest(".scroll, svg, .axis, .track, .cell, .wave");
  const wide = all.filter((e) => !inside(e) && e.getBoundingClientRect().right > {width} + 1);
  const closed = page.querySelector("details:not([open]) > summary");
  closed.focus();
  const focused = page.activeElement === closed;
  closed.click();
  const dark = getComputedStyle(page.body).backgroundColor;
  document.getElementById("found").textContent = JSON.stringify({{
    wide: wide.map((e) => e.tagName + "." + e.className).slice(0, 5),
    scroll: page.documentElement.scrollWidth, client: page.documentElement.clientWidth,
    focused, opened: closed.parentElement.open, dark,
    bars: all.filter((e) => e.className === "bar" && e.getBoundingClientRect().width >= 3).length,
  }});
}});
</script>"""


def browse(folder: Path, *arguments: str) -> str:
    """What a browser without a window writes to standard output."""
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1400,1000",
            "--virtual-time-budget=5000",
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return done.stdout


def probe(folder: Path, width: int, scheme: str) -> dict[str, object]:
    """What a page of a width and a colour scheme is like."""
    (folder / "probe.html").write_text(PROBE.format(width=width))
    number = 0 if scheme == "dark" else 1
    written = browse(
        folder,
        f"--blink-settings=preferredColorScheme={number}",
        "--dump-dom",
        f"file://{folder / 'probe.html'}",
    )
    found = re.search(r'<pre id="found">(.*?)</pre>', written, re.DOTALL)
    assert found, written
    result: dict[str, object] = json.loads(found[1].replace("&gt;", ">").replace("&amp;", "&"))
    return result


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_nothing_overflows_and_all_is_reached(width: int, scheme: str, tmp_path: Path) -> None:
    long = "a/very/long/name-of-a-turn-that-does-not-want-to-break-anywhere.wav"
    missed = Check(key=long, kind="within_ms", warm=True, passed=False, text="late " * 30)
    slower = Comparison(
        key=long, metric="first_audio_ms", pairs=20, ratio=1.3, lower=1.2, upper=1.4, delta_ms=90,
        regression=True, phase="first_sound", phase_delta_ms=80.0,
    )  # fmt: skip
    about = About(name=long, config="laptop", changes=[f"llm.options={{x = '{'y' * 80}'}}"])
    run = talks(10).model_copy(update={"checks": [missed], "comparisons": [slower], "suite": about})
    (tmp_path / "report.html").write_text(render(run))
    found = probe(tmp_path, width, scheme)
    assert found["wide"] == []
    assert found["scroll"] == found["client"], "nobody scrolls sideways"
    assert found["focused"]
    assert found["opened"]
    bars = found["bars"]
    assert isinstance(bars, int)
    assert bars >= 8
    red, *_ = map(int, re.findall(r"\d+", str(found["dark"])))
    assert (red < 60) is (scheme == "dark")


def test_all_is_printed_whatever_is_open(tmp_path: Path) -> None:
    page = render(talks(10))
    assert '<details class="talk">' in page, "some are closed"
    pages = printed(tmp_path, page)
    assert pages == printed(tmp_path, page.replace("<details ", "<details open "))
    assert 4 <= pages <= 15, "about one for each conversation"


def printed(folder: Path, page: str) -> int:
    """How many sheets a page takes."""
    (folder / "report.html").write_text(page)
    paper = folder / "report.pdf"
    browse(
        folder,
        "--no-pdf-header-footer",
        f"--print-to-pdf={paper}",
        f"file://{folder / 'report.html'}",
    )
    return len(re.findall(rb"/Type ?/Page\b", paper.read_bytes()))
