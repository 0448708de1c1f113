"""A client of `voxring serve` over `/v1/voice`: docs/voice-protocol.md.

    async with await VoiceClient.connect("ws://127.0.0.1:8765", rate=16_000) as client:
        await client.feed(samples)
        async for event in client:
            ...

It stands alone: of voxring it needs neither models nor rings.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from pipeline.endpoint.client_events import (
    Event,
    Ready,
    Sound,
    SoundCut,
    SoundEnded,
    SoundStarted,
    parse,
)
from pipeline.errors import AudioError, SessionError, reason

VERSION = 1
PATH = "/v1/voice"
RATES = (8_000, 16_000, 24_000, 48_000)
MESSAGE_MS = 100  # of sound at most: a longer piece is cut
DEADLINE_S = 10.0  # for a connection, a message to leave, an end
EVENT_DEADLINE_S = 60.0


class Refused(SessionError):
    """The server did not let this client in.

    Attributes:
        status: HTTP's number for it.
        retry_after_s: when to try again; None if the server does not say.
    """

    def __init__(self, status: int, message: str, remedy: str, retry_after_s: float | None) -> None:
        super().__init__(message, remedy)
        self.status = status
        self.retry_after_s = retry_after_s


class Closed(SessionError):
    """The connection is over.

    Attributes:
        code: the websocket's close code; 1006 if the connection was lost without one.
    """

    def __init__(self, code: int, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.code = code


class Late(SessionError):
    """Something did not happen by its deadline."""


REMEDIES = {
    401: "Give a valid token",
    403: "Connect from the server's own host, or add the origin to serve.origins",
    404: f"Check the address; this client speaks {PATH}",
    429: "End another conversation of this token first",
    503: "Try again later",
}
_EXAMPLE = "Give one like ws://127.0.0.1:8765"
AGAIN = "Try again later"
CLOSE_REMEDIES = {1001: AGAIN, 1011: AGAIN, 1013: AGAIN, 4002: "Begin another conversation"}


class VoiceClient:
    """One conversation. Iterate over it for what happens; one task at a time may.

    Args:
        socket: on which `start` was answered.
        ready: that answer.
        event_deadline_s: how long to wait for each event.
    """

    def __init__(self, socket: ClientConnection, ready: Ready, event_deadline_s: float) -> None:
        self.ready = ready
        self._socket = socket
        self._event_deadline_s = event_deadline_s
        self._answer = 0  # whose sound comes now
        self._half = b""  # of a sample that was cut in two

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        rate: int = 24_000,
        token: str = "",
        instructions: str = "",
        deadline_s: float = DEADLINE_S,
        event_deadline_s: float = EVENT_DEADLINE_S,
    ) -> Self:
        """Begin a conversation.

        Args:
            url: of the server: ws, wss, http or https; a path is that of a proxy before /v1/voice.
            rate: samples per second, both ways.
            token: if the server asks for one.
            instructions: the system prompt of this conversation; "": the server's.
            deadline_s: for all of this together.
            event_deadline_s: for each event later; `math.inf`: as long as the server lives.

        Raises:
            AudioError: the protocol does not know this rate.
            Refused: the server did not let this client in.
            Closed, Late, SessionError: there was no server, or it did not answer as one.
        """
        if rate not in RATES:
            known = ", ".join(map(str, RATES))
            raise AudioError(f"no connection has {rate} samples a second", f"Choose one of {known}")
        start = {"type": "start", "version": VERSION, "rate": rate}
        if instructions:
            start["instructions"] = instructions
        try:
            async with asyncio.timeout(deadline_s):
                socket = await _dial(address(url), token, deadline_s)
                return cls(socket, await _begin(socket, start), event_deadline_s)
        except TimeoutError:
            raise Late(f"{url} has not answered for {deadline_s:g} s", AGAIN) from None

    async def feed(self, samples: NDArray[np.int16]) -> None:
        """Say something; waits while the server has enough to listen to.

        Args:
            samples: int16 [n], mono, at the rate of the connection.

        Raises:
            AudioError: they are not.
            Closed, Late: the connection is over, or takes nothing.
        """
        if not isinstance(samples, np.ndarray) or samples.dtype != np.int16 or samples.ndim != 1:
            kind = getattr(samples, "dtype", type(samples).__name__)
            raise AudioError(f"expected int16 samples of one channel in NumPy, not {kind}")
        most = self.ready.rate * MESSAGE_MS // 1000
        for start in range(0, len(samples), most):
            await self._send(samples[start : start + most].astype("<i2").tobytes())

    async def commit(self) -> None:
        """The utterance ends here, behind what was fed."""
        await self.command("commit")

    async def open(self) -> None:
        """Push to talk: no silence ends the utterance, until `commit`, `mute` or `unmute`."""
        await self.command("open")

    async def cancel(self) -> None:
        """Stop the answer."""
        await self.command("cancel")

    async def mute(self) -> None:
        """Have nothing heard from here on."""
        await self.command("mute")

    async def unmute(self) -> None:
        """Be heard again."""
        await self.command("unmute")

    async def lock(self) -> None:
        """Let no voice interrupt an answer."""
        await self.command("lock")

    async def unlock(self) -> None:
        """Let a voice interrupt an answer again."""
        await self.command("unlock")

    async def played(self, answer: int, samples: int, *, final: bool = False) -> None:
        """So many samples of an answer have left the loudspeaker; `final`: no more will."""
        await self.command("played", answer=answer, samples=samples, final=final)

    async def command(self, kind: str, **keys: object) -> None:
        """Send a message of the protocol.

        Raises:
            Closed, Late: the connection is over, or takes nothing.
        """
        await self._send(json.dumps({"type": kind, **keys}))

    async def next_event(self, deadline_s: float | None = None) -> Event:
        """Wait for the next thing that happens.

        Args:
            deadline_s: None: the one that `connect` was given.

        Raises:
            Closed: the connection is over.
            Late: nothing happened in time; the conversation may go on.
            SessionError: the server sent what is no event.
        """
        seconds = self._event_deadline_s if deadline_s is None else deadline_s
        try:
            async with asyncio.timeout(None if seconds == np.inf else seconds):
                return await self._next()
        except TimeoutError:
            raise Late(f"the server has told nothing for {seconds:g} s") from None

    async def __aiter__(self) -> AsyncIterator[Event]:
        """What happens, in order, until either side closes the conversation in good order."""
        while True:
            try:
                event = await self.next_event()
            except Closed as closed:
                if closed.code != 1000:
                    raise
                return
            yield event

    async def close(self) -> None:
        """End the conversation; safe to call twice."""
        await self._socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _next(self) -> Event:
        while True:
            message = await _receive(self._socket)
            event = self._sound(message) if isinstance(message, bytes) else parse(message)
            if isinstance(event, SoundStarted):
                self._answer = event.answer
            if isinstance(event, SoundStarted | SoundCut | SoundEnded):
                self._half = b""
            if event is not None and not isinstance(event, Ready):
                return event

    def _sound(self, message: bytes) -> Sound | None:
        """Whole samples of what came; half of one waits for its other half."""
        data = self._half + message
        whole = len(data) & ~1
        self._half = data[whole:]
        samples = np.frombuffer(data[:whole], "<i2").astype(np.int16)
        return Sound(self._answer, samples) if whole else None

    async def _send(self, message: bytes | str) -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                await self._socket.send(message)
        except ConnectionClosed as closed:
            raise _told(closed) from None
        except TimeoutError:
            raise Late(f"the server has read nothing for {DEADLINE_S:g} s", AGAIN) from None


def address(url: str) -> str:
    """The websocket's address from that of the server.

    Raises:
        SessionError: it is no address of a server.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise SessionError(f"no address of a server: {url!r}: {error}", _EXAMPLE) from None
    schemes = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
    if parts.scheme not in schemes or not parts.netloc:
        raise SessionError(f"no address of a server: {url!r}", _EXAMPLE)
    path = parts.path.rstrip("/").removesuffix(PATH) + PATH
    return urlunsplit((schemes[parts.scheme], parts.netloc, path, parts.query, ""))


async def _dial(url: str, token: str, deadline_s: float) -> ClientConnection:
    """A websocket to the server.

    Raises:
        Refused, SessionError: it lets nobody in, or there is none.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        return await connect(
            url,
            additional_headers=headers,
            subprotocols=[Subprotocol("voxring")],
            compression=None,
            open_timeout=None,  # the caller's deadline
            close_timeout=deadline_s,
        )
    except InvalidStatus as error:
        raise _refused(error) from None
    except InvalidURI as error:
        raise SessionError(str(error), _EXAMPLE) from None
    except (OSError, InvalidHandshake, EOFError) as error:
        message = f"there is no server of voxring at {url}: {reason(error)}"
        raise SessionError(
            message, "Start one with `voxring serve`, or check the address"
        ) from None


async def _begin(socket: ClientConnection, start: dict[str, object]) -> Ready:
    """Say `start`, hear `ready`; whatever goes wrong, the socket is closed."""
    try:
        await socket.send(json.dumps(start))
        message = await _receive(socket)
        ready = None if isinstance(message, bytes) else parse(message)
        if not isinstance(ready, Ready):
            raise SessionError(f"the server answered `start` with {message[:80]!r}")
    except ConnectionClosed as closed:
        raise _told(closed) from None
    except BaseException:
        socket.transport.abort()
        raise
    return ready


async def _receive(socket: ClientConnection) -> str | bytes:
    try:
        return await socket.recv()
    except ConnectionClosed as closed:
        raise _told(closed) from None


def _refused(error: InvalidStatus) -> Refused:
    response = error.response
    status = response.status_code
    told = (response.body or b"").decode("utf-8", "replace").strip().split("\n")[0]
    message = f"the server answered {status}: {told or response.reason_phrase}"
    after = response.headers.get("Retry-After", "")
    retry_after_s = float(after) if after.isdigit() else None
    return Refused(status, message, REMEDIES.get(status, ""), retry_after_s)


def _told(closed: ConnectionClosed) -> Closed:
    frame = closed.rcvd or closed.sent
    code = frame.code if frame else 1006
    why = frame.reason if frame else "the connection was lost"
    message = f"the conversation is over ({code}): {why or 'no reason was given'}"
    return Closed(code, message, CLOSE_REMEDIES.get(code, ""))
