"""The server: listens, hands each connection to its protocol, drains."""

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, cast
from urllib.parse import urlsplit

from websockets.asyncio.server import Server as WebsocketServer
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from pipeline.config import Config
from pipeline.endpoint.admission import SUBPROTOCOLS, Doorman, choose_subprotocol
from pipeline.endpoint.connection import CLOSE_S, Connection, Lobby
from pipeline.endpoint.peer import Peer
from pipeline.endpoint.realtime import handler as realtime
from pipeline.endpoint.requests import Requests, query_of
from pipeline.endpoint.session import Handler, Session
from pipeline.endpoint.state import State
from pipeline.endpoint.tokens import load_tokens
from pipeline.endpoint.voice import handler as voice
from pipeline.errors import ConfigError, SessionError, VoxringError
from pipeline.pipeline import Pipeline

log = logging.getLogger("voxring.endpoint")

PROTOCOLS: dict[str, Handler] = {
    "/v1/voice": cast("Handler", voice),
    "/v1/realtime": cast("Handler", realtime),
}
GOING_AWAY, TRY_LATER, TOO_LONG = 1001, 1013, 4002
MOST_WAITING = 256  # connections that have not said yet what they want
READ_QUEUE = 16  # messages of one peer that wait here before the network is told to hold on
DRAIN_LOOK_S = 0.1
ABORT_S = 0.5  # for peers to answer when the server ends at once


class Server:
    """The endpoint. It listens before the pipeline is ready, so that `/health` can tell.

        async with Server(config) as server, Pipeline(config) as pipeline:
            server.open_doors(pipeline)
            ...
            await server.drain()
            await server.close()

    Args:
        config: with audio.stage "client".
        listener: a socket that listens already; None: serve.host and serve.port.
        restarts: how often the program of this server has died before.

    Raises:
        ConfigError: it would let everybody in, or a key or certificate is wrong; on entry: the
            address cannot be listened to.
    """

    def __init__(
        self, config: Config, listener: socket.socket | None = None, restarts: int = 0
    ) -> None:
        self.config = config
        self.sessions: dict[Session, Peer] = {}
        self.state = State(config, restarts)
        self._serve = config.serve
        self._listener = listener
        doorman = Doorman(config.serve, load_tokens(config.serve.token_file))
        self._tls = tls_context(config.serve.tls_cert, config.serve.tls_key)
        self._requests = Requests(self.state, doorman, PROTOCOLS)
        self._lobby = Lobby(MOST_WAITING)
        self._connection = partial(Connection, lobby=self._lobby)
        self._server: WebsocketServer | None = None
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._watch = asyncio.create_task(self.state.watch())
        limits = self._serve
        place = (None, None) if self._listener else (limits.host, limits.port)
        websockets_log = logging.getLogger("voxring.websockets")
        websockets_log.setLevel(logging.ERROR)  # below, frames are logged
        try:
            self._server = await serve(
                self._handle,
                *place,
                sock=self._listener,
                ssl=self._tls,
                process_request=self._request,
                subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS],
                select_subprotocol=_select,
                create_connection=cast("type[ServerConnection]", self._connection),
                compression=None,
                server_header="voxring",
                open_timeout=limits.open_timeout_s,
                ping_interval=None,  # a peer is watched by `Peer.watch`
                close_timeout=CLOSE_S,
                max_size=limits.max_message_kib * 1024,
                max_queue=READ_QUEUE,
                logger=websockets_log,
            )
        except OSError as error:
            self._watch.cancel()
            raise cannot_listen(limits.host, limits.port, error) from None
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server
        host, port = self._server.sockets[0].getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        return f"{'https' if self._tls else 'http'}://{name}:{port}"

    def open_doors(self, pipeline: Pipeline) -> None:
        """The pipeline is ready: conversations may begin."""
        self.state.pipeline = pipeline

    async def drain(self) -> None:
        """Let nobody in; let each conversation end its turn, until `serve.drain_s` is over."""
        self.state.is_draining = True
        limit = time.monotonic() + self._serve.drain_s
        for peer in self.sessions.values():
            if event := peer.wording.closing("the server ends", self._serve.drain_s):
                peer.tell(event)
        while self.sessions and time.monotonic() < limit:
            for session, peer in self.sessions.items():
                if not session.is_in_turn:
                    peer.close_soon(GOING_AWAY, "the server ends")
            await asyncio.sleep(DRAIN_LOOK_S)

    async def close(self) -> None:
        """End every conversation now; safe to call twice."""
        assert self._server
        self.state.is_draining = True
        if self._watch:
            self._watch.cancel()
        self._server.close(reason="the server ends")
        ended = asyncio.create_task(self._server.wait_closed())
        await asyncio.wait([ended], timeout=ABORT_S)
        self._lobby.abort()
        for peer in self.sessions.values():
            peer.abort()
        await ended
        await self.state.close()

    async def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        assert isinstance(connection, Connection)
        return self._requests.answer(connection, request)

    async def _handle(self, connection: ServerConnection) -> None:
        """Serve one peer from its handshake to its end."""
        assert isinstance(connection, Connection)
        assert connection.request
        assert self.state.pipeline
        if (place := connection.take_place()) is None:
            return
        path = connection.request.path
        protocol = urlsplit(path).path
        headers = {name.lower(): v for name, v in connection.request.headers.raw_items()}
        session = Session(
            self.config,
            self.state.pipeline,
            connection.owner,
            query_of(path),
            self.state.observe,
            headers,
        )
        peer = Peer(connection, PROTOCOLS[protocol].WORDING, self._serve)
        self.sessions[session] = peer
        self.state.metrics.sessions.labels(protocol).inc()
        session.log.info("connected", protocol=protocol)
        limits = self._serve
        watch = asyncio.create_task(peer.watch(limits.ping_interval_s, limits.ping_timeout_s))
        try:
            await self._converse(PROTOCOLS[protocol], peer, session)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            del self.sessions[session]
            try:
                await session.close()
            except VoxringError as error:  # the lane is free once its stages have let go
                session.log.warning("late", message=str(error))
            finally:
                place.give_back()
                await peer.end()
                self._account(session, peer, connection.close_code)

    async def _converse(self, handler: Handler, peer: Peer, session: Session) -> None:
        """Run the protocol; whatever ends it, the peer is told."""
        limit = self._serve.session_s or None
        try:
            async with asyncio.timeout(limit) as clock:
                await handler.serve(peer, session)
        except ConnectionClosed:
            return
        except TimeoutError:
            if not clock.expired():
                raise
            await peer.close(TOO_LONG, "this conversation has lasted as long as it may")
        except VoxringError as error:
            if not isinstance(error, SessionError):
                session.log.warning("lost", message=str(error))
            peer.tell(peer.wording.error("no_lane", str(error)))
            await peer.close(TRY_LATER, str(error))
        except Exception:
            session.log.exception("failed")
            await peer.close(1011, "an error of the server")
        else:
            await peer.close(1000, "")

    def _account(self, session: Session, peer: Peer, code: int | None) -> None:
        """It is over."""
        seconds = time.monotonic() - session.since
        metrics = self.state.metrics
        metrics.session_seconds.observe(seconds)
        metrics.dropped.inc(peer.dropped_ms / 1000)
        metrics.closed.labels(code or 1006).inc()
        session.log.info(
            "disconnected", code=code, seconds=round(seconds, 1), dropped_ms=peer.dropped_ms
        )


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


def cannot_listen(host: str, port: int, error: OSError) -> ConfigError:
    """Why an address cannot be listened to."""
    return ConfigError(
        f"cannot listen on {host} port {port}: {error.strerror or error}",
        "Choose another serve.host or serve.port",
    )


def _select(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return cast("Subprotocol | None", choose_subprotocol(offered))
