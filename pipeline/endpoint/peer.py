"""One connection as a protocol sees it: messages in at a bounded pace, messages out, bounded."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Protocol

from websockets.asyncio.connection import broadcast
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from pipeline.endpoint.connection import CLOSE_S, Connection
from pipeline.endpoint.outbox import Audio, Gap, Item, Outbox, SlowReaderError
from pipeline.endpoint.pace import Pace, weight
from pipeline.serve_config import ServeConfig

BURST_S = 4.0  # of messages at the allowed pace that may come at once
PATIENCE_S = 2.0  # with a peer that sends more than that
NO_ANSWER, TOO_MANY, SLOW_READER = 1011, 1008, 4003


class Wording(Protocol):
    """How a protocol tells what the server has to say."""

    def gap(self, gap: Gap) -> str:
        """Sound was left out, because the peer reads too slowly."""

    def closing(self, reason: str, in_s: float) -> str:
        """The server will close this connection; "": that is not told."""

    def error(self, code: str, message: str) -> str:
        """Something went wrong."""


class Peer:
    """What a protocol may do with its connection. Nothing here waits but reading and `close`.

    Args:
        connection: after its handshake.
        wording: of the protocol.
        limits: for both directions.

    Attributes:
        dropped_ms: sound that was left out because the peer reads too slowly.
    """

    def __init__(self, connection: Connection, wording: Wording, limits: ServeConfig) -> None:
        self.wording = wording
        self._connection = connection
        connection.on_flood = lambda: self.close_soon(TOO_MANY, "too many pings")
        self._outbox = Outbox(limits.send_queue_ms, limits.send_queue_events)
        self._loop = asyncio.get_running_loop()
        per_s = limits.messages_per_s
        self._pace = Pace(per_s, per_s * BURST_S, self._loop.time())
        self._waits_since: float | None = None  # for a message, loop's clock
        self._writer: asyncio.Task[None] | None = None
        self._closer: asyncio.Task[None] | None = None

    @property
    def dropped_ms(self) -> float:
        """Of sound, in all."""
        return self._outbox.dropped_ms

    @property
    def is_closing(self) -> bool:
        """Nothing that is told now will be sent."""
        return self._closer is not None

    async def read(self) -> str | bytes:
        """The next message; what a peer sent before it left is of no use to anybody.

        Raises:
            ConnectionClosed: there will be none.
        """
        self._waits_since = self._loop.time()
        try:
            message = await self._connection.recv()
        finally:
            self._waits_since = None
        await self._slow_down(weight(len(message)))
        while self._connection.state is not State.OPEN:
            await self._connection.recv()  # what nobody reads would hide the end from us
        return message

    async def _slow_down(self, count: float) -> None:
        """Read no faster than is allowed; who does not take the hint is closed."""
        if not (wait := self._pace.delay(self._loop.time(), count)):
            return
        if self._pace.over_s > PATIENCE_S:
            self.close_soon(TOO_MANY, "too many messages")
        await asyncio.sleep(wait)

    async def watch(self, interval_s: float, timeout_s: float) -> None:
        """Find out, for ever, whether the peer is alive; one that is not is closed with 1011.

        It is dead if it does not take or answer a ping while nothing else comes either. As long as
        what it sent waits here to be read, its answer may wait behind that.
        """
        while True:
            await asyncio.sleep(interval_s)
            ping = self._loop.create_task(self._ping())
            try:
                while not ping.done():
                    await asyncio.wait([ping], timeout=timeout_s)
                    if not ping.done() and self._has_waited(timeout_s):
                        self.close_soon(NO_ANSWER, "no answer to a ping")
                        return
            finally:
                ping.cancel()

    async def _ping(self) -> None:
        """There and back; where the peer reads nothing, it does not even get away."""
        with contextlib.suppress(ConnectionClosed):
            await (await self._connection.ping())

    def _has_waited(self, seconds: float) -> bool:
        """Nothing has come from the peer for so long."""
        since = self._waits_since
        return since is not None and self._loop.time() - since >= seconds

    async def __aiter__(self) -> AsyncIterator[str | bytes]:
        """All messages, until the connection is closed, in whichever way."""
        while True:
            try:
                yield await self.read()
            except ConnectionClosed:
                return

    def tell(self, event: str) -> None:
        """Send a text message, behind everything that was sent before.

        A peer for which too many wait is closed with 4003.
        """
        if self._can_send_now():
            broadcast([self._connection], event)
        elif not self.is_closing:
            try:
                self._outbox.put_event(event)
                self._write_on()
            except SlowReaderError as error:
                self.close_soon(SLOW_READER, f"too slow a reader: {error}")

    def sound(self, message: bytes | str, answer: int, ms: float) -> None:
        """Send sound of an answer; where too much waits, the oldest is dropped and told as a gap.

        Args:
            message: as it goes over the wire.
            ms: how long it sounds.
        """
        if self._can_send_now():
            broadcast([self._connection], message)
        elif not self.is_closing:
            self._outbox.put_audio(Audio(message, answer, ms))
            self._write_on()

    def cut(self, answer: int) -> None:
        """Do not send what still waits of this answer's sound."""
        self._outbox.cut(answer)

    def close_soon(self, code: int, reason: str) -> None:
        """Close the connection without waiting for it; the first reason counts."""
        if self._closer is None:
            self._closer = self._loop.create_task(self._close(code, reason))

    async def close(self, code: int, reason: str) -> None:
        """Close the connection, and wait until it is: a few seconds, whatever the peer does."""
        self.close_soon(code, reason)
        assert self._closer
        await asyncio.shield(self._closer)

    def abort(self) -> None:
        """Close the connection without a word."""
        self._connection.transport.abort()

    async def end(self) -> None:
        """Let go of everything."""
        tasks = [task for task in (self._writer, self._closer) if task]
        if self._writer:
            self._writer.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _close(self, code: int, reason: str) -> None:
        brief = reason.encode()[:123].decode(errors="ignore")  # more it may not have
        try:
            # The library waits for ever to send this behind what a peer does not read.
            async with asyncio.timeout(CLOSE_S):
                await self._connection.close(code, brief)
        except TimeoutError:
            self.abort()
            await self._connection.wait_closed()

    def _can_send_now(self) -> bool:
        """Nothing waits, here or in the transport: a send is a system call, and is over."""
        is_busy = self._writer is not None or self._closer is not None
        return not is_busy and not self._connection.transport.get_write_buffer_size()

    def _write_on(self) -> None:
        if self._writer is None:
            self._writer = self._loop.create_task(self._write())

    async def _write(self) -> None:
        """Send what waits, as fast as the peer reads."""
        try:
            while (item := self._outbox.take()) is not None:
                await self._connection.send(self._message(item))
        except ConnectionClosed:
            return
        self._writer = None

    def _message(self, item: Item) -> str | bytes:
        match item:
            case Gap():
                return self.wording.gap(item)
            case Audio():
                return item.message
            case _:
                return item
