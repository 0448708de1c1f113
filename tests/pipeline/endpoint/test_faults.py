"""Peers that leave, hang or read too slowly, and stages that die: nobody else is hurt."""

import asyncio
import contextlib
import os
import signal
import socket as sockets
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import ClientConnection

from pipeline.endpoint.peer import Peer
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.running import Client, closing, dial, loud, quiet
from tests.pipeline.endpoint.serving import another_server
from tests.pipeline.running import back

SETTINGS = (
    'llm.options={replies = ["It is time to speak of many things, and of all of them at length."]}',
    "tts.options={rate = 48000}",
    "pipeline.lanes=4",
    "serve.ping_interval_s=0.3",
    "serve.ping_timeout_s=0.5",
    "serve.send_queue_ms=200",
    "serve.send_queue_events=16",
    "serve.max_load=0",
)
RESET = b"\1\0\0\0\0\0\0\0"  # SO_LINGER: on, 0 s: closing sends RST


async def speaking(house: House, socket: ClientConnection) -> Client:
    """A conversation whose answer is being heard."""
    client = Client(socket)
    await client.start(48_000)
    await socket.send(quiet(0.1, 48_000) + loud(0.4, 48_000) + quiet(0.5, 48_000))
    await client.until("sound_started")
    return client


def state() -> tuple[int, int, int]:
    """Descriptors, threads and tasks of this program."""
    descriptors = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return descriptors, threading.active_count(), len(asyncio.all_tasks())


async def same_as(before: tuple[int, int, int]) -> bool:
    """Whether this program comes back to a state in time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            while state() != before:
                await asyncio.sleep(0.02)
    return state() == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
@pytest.mark.parametrize("way", ["close", "reset"])
def test_a_client_that_leaves_in_mid_reply_leaves_nothing_behind(house: House, way: str) -> None:
    """Fault 18: cleanly and by RST."""

    async def work(_: object) -> None:
        await house.idle()
        before = state()
        for _ in range(10):
            socket = await dial(house.server)
            await speaking(house, socket)
            if way == "reset":
                peer = socket.transport.get_extra_info("socket")
                peer.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, RESET)
                socket.transport.abort()
            await socket.close()
        await house.idle()
        assert await same_as(before), f"{state()} after {before}"
        async with dial(house.server) as socket:
            client = await speaking(house, socket)
            await client.tell("cancel")
            assert (await client.until("turn_ended"))["outcome"] == "interrupted"
        await house.idle()

    house.run(work)


def test_a_dead_peer_is_found_by_ping(house: House) -> None:
    """Fault 29: a half-open link."""

    async def work(_: object) -> None:
        async with dial(house.server, ping_interval=None) as socket:
            await Client(socket).start()
            socket.transport.pause_reading()  # nothing that comes is answered
            async with asyncio.timeout(3):
                await house.idle()
            socket.transport.abort()

    house.run(work)


@dataclass
class Stalled:
    """A conversation whose client reads nothing any more.

    Attributes:
        peer: the server's side.
        microphone: speaks on.
    """

    client: Client
    peer: Peer
    microphone: asyncio.Task[None]

    async def drops(self) -> None:
        """Wait until the network takes no more, and sound waits."""
        async with asyncio.timeout(10):
            while not self.peer.dropped_ms and not self.peer.is_closing:
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def stalled(house: House) -> AsyncIterator[Stalled]:
    """A conversation whose client speaks on, but reads nothing while an answer is sent."""
    client_end = sockets.socket()
    client_end.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    client_end.connect(house.address)
    client_end.setblocking(False)
    async with dial(house.server, sock=client_end, max_queue=1, ping_interval=None) as socket:
        client = await speaking(house, socket)
        socket.transport.pause_reading()
        microphone = asyncio.create_task(listen_on(socket))
        (peer,) = house.server.sessions.values()
        try:
            yield Stalled(client, peer, microphone)
        finally:
            microphone.cancel()
            await asyncio.gather(microphone, return_exceptions=True)
            socket.transport.abort()


async def listen_on(socket: ClientConnection) -> None:
    """A microphone that stays on."""
    while True:
        await socket.send(quiet(0.02, 48_000))
        await asyncio.sleep(0.02)


def test_sound_for_a_slow_reader_is_dropped_and_told(house: House) -> None:
    async def work(_: object) -> None:
        async with stalled(house) as slow:
            await slow.drops()
            client = slow.client
            client.socket.transport.resume_reading()
            assert (await client.until("sound_dropped"))["ms"] > 0
            assert (await client.until("turn_ended"))["outcome"] == "answered"
        await house.idle()

    house.run(work)


def test_a_reader_too_slow_for_events_is_closed_and_nobody_else(house: House) -> None:
    async def work(_: object) -> None:
        async with stalled(house) as slow, dial(house.server) as other:
            neighbour = Client(other)
            await neighbour.start()
            await tell_too_much(slow.peer)
            assert (await neighbour.ask())["outcome"] == "answered"
        await house.idle()

    house.run(work)


async def tell_too_much(peer: Peer) -> None:
    """More events than may wait."""
    while not peer.is_closing:
        peer.tell('{"type":"error","code":"test","message":"' + "x" * 20_000 + '"}')
        await asyncio.sleep(0)


@pytest.mark.parametrize("rule", ["events", "ping", "length"])
def test_who_reads_nothing_while_sound_waits_holds_no_place(house: House, rule: str) -> None:
    """The place and the lane come back while it is still there, and still reads nothing."""
    session_s = 4 if rule == "length" else 0

    async def work(_: object) -> None:
        limits = (f"serve.session_s={session_s}", "serve.send_queue_ms=200")
        async with another_server(house, *limits) as server:
            other = House(house.runner, server, house.pipeline)
            async with stalled(other) as slow:
                await slow.drops()
                if rule == "events":
                    await tell_too_much(slow.peer)
                elif rule == "ping":
                    slow.microphone.cancel()
                    async with asyncio.timeout(5):
                        await slow.peer.watch(0, 0.3)
                await other.idle()

    house.run(work)


@pytest.mark.parametrize("stage", ["turn", "asr", "llm", "tts"])
def test_a_stage_that_is_killed_costs_a_turn_and_no_connection(house: House, stage: str) -> None:
    async def work(_: object) -> None:
        async with dial(house.server) as one, dial(house.server) as two:
            clients = [await speaking(house, one), await speaking(house, two)]
            old = house.pipeline.stages[stage]
            os.kill(old, signal.SIGKILL)
            for client in clients:
                error = await client.until("error")
                assert error["code"] == "stage"
                assert stage in error["message"]
            await back(house.pipeline, stage, old)
            for client in clients:
                await client.socket.send(quiet(1.2, 48_000))
                await client.socket.send(loud(0.4, 48_000) + quiet(0.5, 48_000))
            for client in clients:
                assert (await client.until("turn_ended"))["outcome"] == "failed"
                await client.until("sound_started")
                await client.tell("cancel")
                assert (await client.until("turn_ended"))["outcome"] == "interrupted"
        await house.idle()

    house.run(work)


def test_a_flood_of_messages_costs_nobody_an_answer_but_its_sender(house: House) -> None:
    async def work(_: object) -> None:
        async with dial(house.server) as one, dial(house.server) as two:
            await Client(one).start()
            neighbour = Client(two)
            await neighbour.start()

            async def flood() -> None:
                while True:
                    await one.send('{"type":"nonsense"}')
                    await asyncio.sleep(0)  # the server shares this loop, and a send need not wait

            flooder = asyncio.create_task(flood())
            try:
                ended = await neighbour.ask()
            finally:
                flooder.cancel()
                await asyncio.gather(flooder, return_exceptions=True)
            assert ended["outcome"] == "answered"
        await house.idle()

    house.run(work)


@pytest.mark.parametrize("reads", [True, False])
def test_a_flood_of_pings_is_closed_and_fills_no_memory(house: House, reads: bool) -> None:
    """The library answers each of them, and no queue of ours sees any."""

    async def work(_: object) -> None:
        async with dial(house.server, ping_interval=None) as one, dial(house.server) as two:
            await Client(one).start()
            neighbour = Client(two)
            await neighbour.start()
            (peer, _) = house.server.sessions.values()
            if not reads:
                one.transport.pause_reading()
            pings = b"\x89\x80\0\0\0\0" * 50_000
            one.transport.write(pings)
            assert (await neighbour.ask())["outcome"] == "answered"
            assert peer._connection.transport.get_write_buffer_size() < 65_536
            if reads:
                assert (await closing(one)).code == 1008
            async with asyncio.timeout(5):
                while len(house.server.sessions) > 1:
                    await asyncio.sleep(0.02)
            one.transport.abort()
        await house.idle()

    house.run(work)


def test_whoever_says_nothing_keeps_no_server_from_ending(house: House) -> None:
    """One silent connection held it for as long as a handshake may take."""

    async def work(_: object) -> None:
        async with another_server(house, "serve.open_timeout_s=30") as server:
            target = urlsplit(server.url)
            _, writer = await asyncio.open_connection(target.hostname, target.port)
            async with asyncio.timeout(3):
                await server.close()
            writer.close()

    house.run(work)


def test_the_drain_lets_a_turn_end_and_closes_whoever_is_idle() -> None:
    """It is the end of its server, so that it has one of its own."""
    from pipeline.endpoint.server import Server
    from pipeline.pipeline import Pipeline
    from tests.pipeline.endpoint.running import config_for

    async def main() -> None:
        config = config_for("serve.drain_s=20")
        async with Server(config) as server, Pipeline(config) as pipeline:
            server.open_doors(pipeline)
            async with dial(server) as one, dial(server) as two:
                idle, talker = Client(one), Client(two)
                await idle.start()
                await talker.start()
                await two.send(quiet(0.1) + loud(0.4) + quiet(0.5))
                await talker.until("sound_started")
                drain = asyncio.create_task(server.drain())
                assert (await closing(one)).code == 1001
                assert (await talker.until("closing"))["in_s"] == 20
                assert (await talker.until("turn_ended"))["outcome"] == "answered"
                assert (await closing(two)).code == 1001
                await drain
            await server.close()

    asyncio.run(main())
