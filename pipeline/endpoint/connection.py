"""A websocket on its way in: what it was admitted with, and its place until a protocol takes it."""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import Event

from pipeline.endpoint.pace import Pace
from pipeline.endpoint.places import Place

SEND_BUFFER = 65_536  # bytes in the kernel: a slow reader is to be noticed here, not there
CLOSE_S = 2.0  # for a peer to read and answer a close
CONTROLS = (Opcode.PING, Opcode.PONG)
CONTROLS_PER_S, CONTROLS_AT_ONCE = 10.0, 100.0  # of one peer; browsers send none of their own


class Lobby:
    """Connections that have not been admitted yet: who asks for nothing is not waited for.

    Args:
        most: how many may be here; the one that has waited longest makes room for one more.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[Connection, None] = {}  # in the order in which they came

    def enter(self, connection: "Connection") -> None:
        """Somebody has come."""
        if len(self._waiting) >= self._most:
            oldest = next(iter(self._waiting))
            self.leave(oldest)  # it counts no more: many may come before it is gone
            oldest.transport.abort()
        self._waiting[connection] = None

    def leave(self, connection: "Connection") -> None:
        """Admitted, answered or gone."""
        self._waiting.pop(connection, None)

    def abort(self) -> None:
        """Nobody is waited for any more."""
        for connection in list(self._waiting):
            connection.transport.abort()


class Connection(ServerConnection):
    """Gives its place back if the handshake comes to nothing; bears no flood of pings.

    The library answers each ping while it reads, whatever the network takes, and shows none of them
    to whoever counts messages.

    Args:
        lobby: where it waits.

    Attributes:
        place: held from the moment the request was admitted.
        owner: whose token it came with; "": none was needed.
        on_flood: what to do with a peer that sends too many pings; nothing is read from it then.
    """

    def __init__(self, *args: Any, lobby: Lobby, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lobby = lobby
        self.place: Place | None = None
        self.owner = ""
        self.on_flood: Callable[[], None] = lambda: self.transport.abort()
        self._controls = Pace(CONTROLS_PER_S, CONTROLS_AT_ONCE, self.loop.time())
        self._is_flooded = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer: what waits for it is to wait in this process, where it is counted."""
        peer = transport.get_extra_info("socket")
        if peer is not None:
            with contextlib.suppress(OSError):  # gone already
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        super().connection_made(transport)
        self._lobby.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Gone; whoever has taken the place gives it back."""
        super().connection_lost(exc)
        self._lobby.leave(self)
        if place := self.take_place():
            place.give_back()

    def data_received(self, data: bytes) -> None:
        """Bytes of the peer; those of a flood are not even looked at."""
        if not self._is_flooded:
            super().data_received(data)

    def process_event(self, event: Event) -> None:
        """A frame of the peer, or its request."""
        if isinstance(event, Frame) and event.opcode in CONTROLS and not self._is_flooded:
            self._is_flooded = self._controls.delay(self.loop.time()) > 0
            if self._is_flooded:
                self.on_flood()
        super().process_event(event)

    def take_place(self) -> Place | None:
        """Whoever calls this gives it back; None if the peer is gone already."""
        self._lobby.leave(self)
        place, self.place = self.place, None
        return place
