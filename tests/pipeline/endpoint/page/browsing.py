"""The system's own Chromium, driven over its debugging protocol."""

import mimetypes
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (extra dev)")

PAGE = Path(__file__).parents[4] / "pipeline" / "endpoint" / "page"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NOWHERE = "http://localhost"  # a secure origin whose files the test itself serves
DEADLINE_MS = 30_000


def chromium() -> str:
    """Where the browser is; the test is skipped if there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return found


@contextmanager
def browser(*flags: str) -> Iterator["sync_api.Browser"]:
    """A browser without a window. Root has no sandbox."""
    path = chromium()
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *flags])
        try:
            yield launched
        finally:
            launched.close()


def serve_files(page: "sync_api.Page") -> None:
    """Give the page its own files, and nothing else."""

    def answer(route: "sync_api.Route") -> None:
        name = route.request.url.rpartition("/")[2] or "index.html"
        kind = mimetypes.guess_type(name)[0] or "text/plain"
        route.fulfill(body=(PAGE / name).read_bytes(), content_type=kind)

    page.route(f"{NOWHERE}/*", answer)
