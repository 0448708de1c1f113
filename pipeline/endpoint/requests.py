"""Requests before their upgrade: admitted, answered as plain HTTP, or refused."""

import logging
from collections.abc import Collection
from urllib.parse import parse_qsl, urlsplit

from websockets.http11 import Request, Response

from pipeline.endpoint.admission import Doorman, Refusal, split_address
from pipeline.endpoint.connection import Connection
from pipeline.endpoint.metrics import CONTENT_TYPE
from pipeline.endpoint.places import NoPlaceError, TooManyError
from pipeline.endpoint.responses import document, page_files, respond, text
from pipeline.endpoint.state import State
from pipeline.endpoint.tokens import TICKET_S
from pipeline.log_lines import FIELDS

log = logging.getLogger("voxring.endpoint")


class Requests:
    """Answers the requests of one server.

    Args:
        state: of the server.
        doorman: who checks them.
        protocols: paths that may be upgraded.
    """

    def __init__(self, state: State, doorman: Doorman, protocols: Collection[str]) -> None:
        self._state = state
        self._serve = state.config.serve
        self._doorman = doorman
        self._protocols = protocols
        self._files = page_files()
        self._later = {"Retry-After": str(self._serve.retry_after_s)}

    def answer(self, connection: Connection, request: Request) -> Response | None:
        """A response; or None: the connection has a place now, and goes on to its upgrade."""
        path = ""
        try:
            path = split_address(request.path).path
            self._doorman.check_origin(request.headers)
            if path in self._protocols:
                self._admit(connection, request, query_of(request.path))
                return None
            return self._document(path, request)
        except Refusal as refusal:
            self._tell(refusal, path)
            return text(refusal.status, refusal.reason, refusal.headers)

    def _tell(self, refusal: Refusal, path: str) -> None:
        self._state.metrics.refused.labels(refusal.status).inc()
        if path in self._protocols:
            fields = {"status": refusal.status, "reason": refusal.reason, "path": path}
            log.info("refused", extra={FIELDS: fields})

    def _admit(self, connection: Connection, request: Request, query: dict[str, str]) -> None:
        """Reserve a place for it. Raises Refusal."""
        owner = self._doorman.identify(request.headers, query)
        later = self._later
        if self._state.is_draining:
            raise Refusal(503, "the server ends", later)
        if not self._state.is_ready:
            raise Refusal(503, "the server is not ready yet", later)
        try:
            connection.place = self._state.take_place(owner)
        except TooManyError as error:
            raise Refusal(429, str(error), later) from None
        except NoPlaceError as error:
            raise Refusal(503, str(error), later) from None
        connection.owner = owner

    def _document(self, path: str, request: Request) -> Response:
        """What is no websocket. Raises Refusal."""
        if path == "/ticket":
            if request.method != "POST":
                raise Refusal(405, "POST /ticket", {"Allow": "POST"})
            owner = self._doorman.identify(request.headers, {})
            try:  # a browser cannot read why its upgrade is refused
                self._state.places.check(owner)
            except TooManyError as error:
                raise Refusal(429, str(error), self._later) from None
            ticket = self._doorman.ticket(owner)
            return document(200, {"ticket": ticket, "expires_in_s": TICKET_S})
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "GET only", {"Allow": "GET, HEAD"})
        if path in ("/health", "/health/live"):
            return document(200, self._health())
        if path == "/health/ready":
            return document(200 if self._state.is_ready else 503, self._health())
        if path == "/metrics" and self._serve.metrics:
            self._doorman.identify(request.headers, {})
            return respond(200, CONTENT_TYPE, self._state.metrics.text())
        if path in self._files:
            return self._files[path]
        raise Refusal(404, "there is nothing here")

    def _health(self) -> dict[str, object]:
        return {**self._state.health(), "token_required": self._doorman.needs_token}


def query_of(path: str) -> dict[str, str]:
    """The last value of each key in a request's query."""
    return dict(parse_qsl(urlsplit(path).query))
