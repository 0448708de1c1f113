"""An endpoint in this process, on scripted stages, and clients of it."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close

from pipeline.config import Config
from pipeline.endpoint.server import Server
from tests.pipeline.running import scripted

DEADLINE_S = 60
RATE = 16_000
CLIENT = ("audio.stage=client", "turn.options={}", "serve.port=0")  # speech is what is loud


def config_for(*overrides: str) -> Config:
    """The scripted pipeline behind an endpoint on a free port."""
    return scripted(*CLIENT, *overrides)


def loud(seconds: float, rate: int = RATE) -> bytes:
    """Something that counts as speech."""
    times = np.arange(round(seconds * rate)) / rate
    return (8000 * np.sin(2 * np.pi * 300 * times)).astype("<i2").tobytes()


def quiet(seconds: float, rate: int = RATE) -> bytes:
    """Silence."""
    return bytes(2 * round(seconds * rate))


class Client:
    """A client of the binary protocol.

    Attributes:
        events: that came so far, without sound.
        sound: that came so far.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[dict[str, Any]] = []
        self.sound = b""

    async def tell(self, type: str, **values: Any) -> None:
        await self.socket.send(json.dumps({"type": type, **values}))

    async def start(self, rate: int = RATE, **values: Any) -> dict[str, Any]:
        """Begin a conversation."""
        await self.tell("start", version=1, rate=rate, **values)
        return await self.until("ready")

    async def until(self, *types: str) -> dict[str, Any]:
        """Take what comes, up to the next event of one of these types."""
        while True:
            message = await self.socket.recv()
            if isinstance(message, bytes):
                self.sound += message
                continue
            event = json.loads(message)
            self.events.append(event)
            if event["type"] in types:
                return event

    async def ask(self, rate: int = RATE) -> dict[str, Any]:
        """Say something, and wait until the turn has ended."""
        await self.socket.send(quiet(0.1, rate) + loud(0.4, rate) + quiet(0.5, rate))
        return await self.until("turn_ended")

    def types(self) -> list[str]:
        """Of all events."""
        return [event["type"] for event in self.events]


async def closing(socket: ClientConnection) -> Close:
    """How the server closes a connection; what it says before is left out."""
    while True:
        try:
            await socket.recv()
        except ConnectionClosed as error:
            close = error.rcvd
            break
    assert close, "the connection was lost"
    return close


def voice_url(server: Server, path: str = "/v1/voice") -> str:
    """Where to connect to."""
    return server.url.replace("http", "ws", 1) + path


def dial(server: Server, path: str = "/v1/voice", **options: Any) -> connect:
    """Connect without compression; what comes is taken at once, read or not."""
    options = {"max_queue": None, **options}
    return connect(voice_url(server, path), compression=None, proxy=None, **options)


def ask(
    url: str, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """One plain HTTP request: status, headers, body."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        connection.request(
            method, path, headers={n.replace("_", "-"): v for n, v in headers.items()}
        )
        response = connection.getresponse()
        return response.status, dict(response.headers), response.read()
    finally:
        connection.close()
