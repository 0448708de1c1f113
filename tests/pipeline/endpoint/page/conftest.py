"""What tests of the web page share."""

from collections.abc import Iterator

import pytest

from tests.pipeline.endpoint.page.browsing import NOWHERE, browser, serve_files, sync_api


@pytest.fixture(scope="module")
def modules() -> Iterator["sync_api.Page"]:
    """A page from which the product's modules can be imported, without a server."""
    with browser() as launched:
        page = launched.new_page()
        serve_files(page)
        page.goto(f"{NOWHERE}/icon.svg")
        yield page
