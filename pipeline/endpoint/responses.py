"""Plain HTTP answers: the page's files, and small documents."""

import json
import mimetypes
from collections.abc import Mapping
from http import HTTPStatus
from importlib import resources
from typing import Any

from websockets.datastructures import Headers
from websockets.http11 import Response

# Nothing of the page comes from anywhere else, nothing else may frame it.
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; connect-src 'self'; worker-src 'self' blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Permissions-Policy": "microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def respond(
    status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None
) -> Response:
    """One HTTP response.

    Args:
        kind: its media type.
    """
    fields = {
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        "Connection": "close",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        **(headers or {}),
    }
    return Response(status, HTTPStatus(status).phrase, Headers(fields), body)


def document(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON document."""
    return respond(status, "application/json", json.dumps(value).encode() + b"\n", headers)


def text(status: int, line: str, headers: Mapping[str, str] | None = None) -> Response:
    """A line of text."""
    return respond(status, "text/plain; charset=utf-8", f"{line}\n".encode(), headers)


def page_files() -> dict[str, Response]:
    """The files of the web page by their paths; read once, so that no path leads elsewhere."""
    folder = resources.files("pipeline.endpoint") / "page"
    files: dict[str, Response] = {}
    if folder.is_dir():
        for file in folder.iterdir():
            if file.is_file() and not file.name.endswith((".py", ".pyc")):
                kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
                kind += "; charset=utf-8" if kind.startswith("text/") else ""
                files[f"/{file.name}"] = respond(200, kind, file.read_bytes(), PAGE_HEADERS)
    if "/index.html" in files:
        files["/"] = files["/index.html"]
    return files
