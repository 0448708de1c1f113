"""The Python client, with servers that behave badly."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import numpy as np
import pytest
from websockets.asyncio.server import ServerConnection, serve

from pipeline.endpoint.client import Closed, Late, VoiceClient, address
from pipeline.endpoint.client_events import Sound, SoundStarted, parse
from pipeline.errors import AudioError, SessionError

READY = {
    "type": "ready",
    "version": 1,
    "session": "x",
    "rate": 24_000,
    "encoding": "pcm_s16le",
    "lead_ms": 300,
    "max_message_bytes": 1_048_576,
    "session_s": 0,
}
Handler = Callable[[ServerConnection], Awaitable[None]]


def with_server(handler: Handler, work: Callable[[str], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(20), serve(handler, "127.0.0.1", 0, compression=None) as server:
            host, port = server.sockets[0].getsockname()
            await work(f"ws://{host}:{port}")

    asyncio.run(main())


async def greet(socket: ServerConnection) -> None:
    assert json.loads(await socket.recv())["type"] == "start"
    await socket.send(json.dumps(READY))


def test_a_sample_that_is_cut_in_two_is_one_sample() -> None:
    sound = np.arange(-3000, 3000, dtype="<i2").tobytes()

    async def handler(socket: ServerConnection) -> None:
        await greet(socket)
        await socket.send('{"type": "sound_started", "turn": 1, "answer": 4}')
        for start, end in ((0, 1), (1, 4064), (4064, 4064), (4064, 5761), (5761, len(sound))):
            await socket.send(sound[start:end])

    async def work(url: str) -> None:
        async with await VoiceClient.connect(url) as client:
            events = [event async for event in client]
        assert events[0] == SoundStarted(1, 4)
        pieces = [event for event in events if isinstance(event, Sound)]
        assert {piece.answer for piece in pieces} == {4}
        assert np.concatenate([piece.samples for piece in pieces]).tobytes() == sound

    with_server(handler, work)


def test_half_a_sample_of_one_answer_is_not_joined_to_the_next() -> None:
    async def handler(socket: ServerConnection) -> None:
        await greet(socket)
        await socket.send('{"type": "sound_started", "turn": 1, "answer": 4}')
        await socket.send(b"\x01")
        await socket.send('{"type": "sound_cut", "answer": 4}')
        await socket.send('{"type": "sound_started", "turn": 2, "answer": 5}')
        await socket.send(b"\x02\x00")

    async def work(url: str) -> None:
        async with await VoiceClient.connect(url) as client:
            events = [event async for event in client]
        (sound,) = [event for event in events if isinstance(event, Sound)]
        assert (sound.answer, sound.samples.tolist()) == (5, [2])

    with_server(handler, work)


def test_sound_is_cut_into_messages_that_a_server_likes() -> None:
    sizes: list[int] = []

    async def handler(socket: ServerConnection) -> None:
        await greet(socket)
        sizes.extend([len(message) async for message in socket])

    async def work(url: str) -> None:
        async with await VoiceClient.connect(url) as client:
            await client.feed(np.zeros(24_000 * 10 + 5, np.int16))

    with_server(handler, work)
    assert sum(sizes) == 2 * (240_000 + 5)
    assert max(sizes) == 4800


def test_a_server_that_says_nothing_is_late() -> None:
    async def handler(socket: ServerConnection) -> None:
        await greet(socket)
        await socket.wait_closed()

    async def work(url: str) -> None:
        async with await VoiceClient.connect(url) as client:
            with pytest.raises(Late, match=r"told nothing for 0\.05 s"):
                await client.next_event(0.05)

    with_server(handler, work)


def test_a_server_that_is_never_ready_is_late() -> None:
    async def handler(socket: ServerConnection) -> None:
        await socket.wait_closed()

    async def work(url: str) -> None:
        with pytest.raises(Late, match=r"has not answered for 0\.2 s"):
            await VoiceClient.connect(url, deadline_s=0.2)

    with_server(handler, work)


def test_a_lost_connection_is_told() -> None:
    async def handler(socket: ServerConnection) -> None:
        await greet(socket)
        socket.transport.abort()

    async def work(url: str) -> None:
        async with await VoiceClient.connect(url) as client:
            with pytest.raises(Closed, match="the connection was lost") as closed:
                await client.next_event()
            assert closed.value.code == 1006
            with pytest.raises(Closed):
                await client.cancel()

    with_server(handler, work)


@pytest.mark.parametrize("answer", ["nonsense", "[1]", '{"type": "turn_ended"}', b"\x00\x00"])
def test_an_answer_that_is_no_ready_is_told(answer: str | bytes) -> None:
    async def handler(socket: ServerConnection) -> None:
        await socket.send(answer)
        await socket.wait_closed()

    async def work(url: str) -> None:
        with pytest.raises(SessionError):
            await VoiceClient.connect(url)

    with_server(handler, work)


def test_without_a_server_the_error_says_how_to_get_one() -> None:
    async def work() -> None:
        with pytest.raises(SessionError, match="voxring serve"):
            await VoiceClient.connect("ws://127.0.0.1:1")

    asyncio.run(work())


def test_a_rate_that_no_connection_has_is_refused_before_it() -> None:
    with pytest.raises(AudioError, match="Choose one of 8000, 16000, 24000, 48000"):
        asyncio.run(VoiceClient.connect("ws://127.0.0.1:1", rate=44_100))


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("ws://127.0.0.1:8765", "ws://127.0.0.1:8765/v1/voice"),
        ("https://talk.example/", "wss://talk.example/v1/voice"),
        ("wss://talk.example/voice/", "wss://talk.example/voice/v1/voice"),
        ("http://[::1]:1/v1/voice", "ws://[::1]:1/v1/voice"),
    ],
)
def test_the_address_follows_from_that_of_the_server(url: str, right: str) -> None:
    assert address(url) == right


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8765", "ftp://x", "ws://", "", "ws://x:port", "ws://[::1"]
)
def test_what_is_no_address_is_told(url: str) -> None:
    with pytest.raises(SessionError, match="Give one like"):
        address(url)


def test_types_and_keys_that_are_not_known_are_ignored() -> None:
    assert parse('{"type": "weather", "sun": true}') is None
    started = parse('{"type": "sound_started", "turn": 1, "answer": 2, "colour": "red"}')
    assert started == SoundStarted(1, 2)


def test_an_event_that_lacks_a_key_is_told() -> None:
    with pytest.raises(SessionError, match="turn_ended has no turn, answer, outcome"):
        parse('{"type": "turn_ended"}')
