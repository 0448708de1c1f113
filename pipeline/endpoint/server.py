"""The server: listens, admits, hands each connection to its protocol, drains."""

import asyncio
import contextlib
import importlib
import importlib.util
import logging
import ssl
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, cast
from urllib.parse import parse_qsl, urlsplit

from websockets.asyncio.server import Server as WebsocketServer
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from pipeline.config import Config
from pipeline.endpoint.admission import SUBPROTOCOLS, Doorman, Refusal, choose_subprotocol
from pipeline.endpoint.connection import CLOSE_S, Connection
from pipeline.endpoint.peer import Peer
from pipeline.endpoint.places import NoPlaceError, Places, TooManyError
from pipeline.endpoint.responses import document, page_files, text
from pipeline.endpoint.session import Handler, Session
from pipeline.endpoint.tokens import TICKET_S, load_tokens
from pipeline.errors import ConfigError, VoxringError
from pipeline.pipeline import Pipeline
from pipeline.version import VERSION

log = logging.getLogger("voxring.endpoint")

PROTOCOLS = {
    "/v1/voice": "pipeline.endpoint.voice.handler",
    "/v1/realtime": "pipeline.endpoint.realtime.handler",
}
TOO_LONG = 4002
READ_QUEUE = 32  # messages of one peer that wait here before the network is told to hold on
DRAIN_LOOK_S = 0.1


class Server:
    """The endpoint. It listens before the pipeline is ready, so that `/health` can tell.

        async with Server(config) as server, Pipeline(config) as pipeline:
            server.open_doors(pipeline)
            ...
            await server.drain()

    Args:
        config: with audio.stage "client".

    Raises:
        ConfigError: it would let everybody in, or a key or certificate is wrong; on entry: the
            address cannot be listened to.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.sessions: dict[Session, Peer] = {}
        self._serve = config.serve
        self._doorman = Doorman(config.serve, load_tokens(config.serve.token_file))
        self._tls = tls_context(config.serve.tls_cert, config.serve.tls_key)
        self._places = Places(self._capacity, config.serve.sessions_per_token)
        self._files = page_files()
        self._handlers = _handlers()
        self._pipeline: Pipeline | None = None
        self._is_draining = False
        self._server: WebsocketServer | None = None

    async def __aenter__(self) -> Self:
        limits = self._serve
        websockets_log = logging.getLogger("voxring.websockets")
        websockets_log.setLevel(logging.ERROR)  # below, frames are logged
        try:
            self._server = await serve(
                self._handle,
                limits.host,
                limits.port,
                ssl=self._tls,
                process_request=self._request,
                subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS],
                select_subprotocol=_select,
                create_connection=Connection,
                compression=None,
                server_header="voxring",
                open_timeout=limits.open_timeout_s,
                ping_interval=limits.ping_interval_s,
                ping_timeout=limits.ping_timeout_s,
                close_timeout=CLOSE_S,
                max_size=limits.max_message_kib * 1024,
                max_queue=READ_QUEUE,
                logger=websockets_log,
            )
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {limits.host} port {limits.port}: {error.strerror}",
                "Choose another serve.host or serve.port",
            ) from None
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server
        self._is_draining = True
        self._server.close(reason="the server ends")
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server
        host, port = self._server.sockets[0].getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        return f"{'https' if self._tls else 'http'}://{name}:{port}"

    def open_doors(self, pipeline: Pipeline) -> None:
        """The pipeline is ready: conversations may begin."""
        self._pipeline = pipeline

    async def drain(self) -> None:
        """Let nobody in; let each conversation end its turn, until `serve.drain_s` is over."""
        self._is_draining = True
        limit = time.monotonic() + self._serve.drain_s
        for peer in self.sessions.values():
            if event := peer.wording.closing("the server ends", self._serve.drain_s):
                peer.tell(event)
        while self.sessions and time.monotonic() < limit:
            for session, peer in self.sessions.items():
                if not session.is_in_turn:
                    peer.close_soon(1001, "the server ends")
            await asyncio.sleep(DRAIN_LOOK_S)

    def _capacity(self) -> int:
        lanes, most = self.config.pipeline.lanes, self._serve.max_speakers
        return min(lanes, most) if most else lanes

    async def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request, or let it go on to its upgrade."""
        assert isinstance(connection, Connection)
        target = urlsplit(request.path)
        try:
            self._doorman.check_origin(request.headers)
            if target.path in self._handlers:
                self._admit(connection, request, dict(parse_qsl(target.query)))
                return None
            return self._document(target.path, request)
        except Refusal as refusal:
            return text(refusal.status, refusal.reason, refusal.headers)

    def _admit(self, connection: Connection, request: Request, query: dict[str, str]) -> None:
        """Reserve a place for it. Raises Refusal."""
        owner = self._doorman.identify(request.headers, query)
        later = {"Retry-After": str(self._serve.retry_after_s)}
        if self._is_draining:
            raise Refusal(503, "the server ends", later)
        if self._pipeline is None:
            raise Refusal(503, "the server is not ready yet", later)
        try:
            connection.place = self._places.take(owner)
        except TooManyError as error:
            raise Refusal(429, str(error), later) from None
        except NoPlaceError as error:
            raise Refusal(503, str(error), later) from None
        connection.owner = owner

    def _document(self, path: str, request: Request) -> Response:
        """What is no websocket."""
        if path == "/ticket":
            if request.method != "POST":
                raise Refusal(405, "POST /ticket", {"Allow": "POST"})
            ticket = self._doorman.ticket(request.headers)
            return document(200, {"ticket": ticket, "expires_in_s": TICKET_S})
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "GET only", {"Allow": "GET, HEAD"})
        if path == "/health":
            return document(200, self._health())
        if path == "/health/ready":
            health = self._health()
            return document(200 if health["ready"] else 503, health)
        if path in self._files:
            return self._files[path]
        raise Refusal(404, "there is nothing here")

    def _health(self) -> dict[str, object]:
        is_ready = self._pipeline is not None and not self._is_draining
        return {
            "live": True,
            "ready": is_ready,
            "draining": self._is_draining,
            "places": self._places.free if is_ready else 0,
            "token_required": self._doorman.needs_token,
            "version": VERSION,
        }

    async def _handle(self, connection: ServerConnection) -> None:
        """Serve one peer from its handshake to its end."""
        assert isinstance(connection, Connection)
        assert connection.request
        assert self._pipeline
        if (place := connection.take_place()) is None:
            return
        target = urlsplit(connection.request.path)
        handler = self._handlers[target.path]
        query = dict(parse_qsl(target.query))
        session = Session(self.config, self._pipeline, connection.owner, query)
        peer = Peer(connection, handler.WORDING, self._serve)
        self.sessions[session] = peer
        try:
            await self._converse(handler, peer, session)
        finally:
            del self.sessions[session]
            await session.close()
            place.give_back()
            await peer.end()

    async def _converse(self, handler: Handler, peer: Peer, session: Session) -> None:
        """Run the protocol; whatever ends it, the peer is told."""
        limit = self._serve.session_s or None
        try:
            async with asyncio.timeout(limit):
                await handler.serve(peer, session)
        except ConnectionClosed:
            return
        except TimeoutError:
            await peer.close(TOO_LONG, "this conversation has lasted as long as it may")
        except VoxringError as error:
            peer.tell(peer.wording.error("no_lane", str(error)))
            await peer.close(1013, str(error))
        except Exception:
            log.exception("session %s failed", session.name)
            await peer.close(1011, "an error of the server")
        else:
            await peer.close(1000, "")


def tls_context(cert: str, key: str) -> ssl.SSLContext | None:
    """The server's side of TLS; None if no certificate is configured.

    Raises:
        ConfigError: a file is missing, or they do not belong together.
    """
    if not cert and not key:
        return None
    if not cert or not key:
        raise ConfigError("TLS needs both serve.tls_cert and serve.tls_key", "Name both PEM files")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(Path(cert).expanduser(), Path(key).expanduser())
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"serve.tls_cert or serve.tls_key cannot be used: {error.strerror or error}",
            "Name a PEM certificate and its key",
        ) from None
    return context


def _select(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return cast("Subprotocol | None", choose_subprotocol(offered))


def _handlers() -> dict[str, Handler]:
    """The protocols that are there, by their paths."""
    found: dict[str, Handler] = {}
    for path, module in PROTOCOLS.items():
        with contextlib.suppress(ModuleNotFoundError):  # of the parent package
            if importlib.util.find_spec(module):
                found[path] = cast("Handler", importlib.import_module(module))
    return found
