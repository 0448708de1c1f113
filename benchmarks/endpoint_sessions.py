"""Thousands of short conversations, some torn off in mid-turn: does anything stay behind?"""

import asyncio
import json
import socket as sockets
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from benchmarks.endpoint_server import Serving, serving
from benchmarks.result import Figure

RATE = 16_000
AT_ONCE = 8
RESET = b"\1\0\0\0\0\0\0\0"  # SO_LINGER: on, 0 s: closing sends RST
PATIENCE_S = 30.0  # with a server that is full
QUIET_S = 30.0  # for a server to be as it was
SETTINGS = (
    f"pipeline.lanes={AT_ONCE}",
    "serve.max_load=0",
    'llm.options={replies = ["Yes."]}',
    "tts.options={tone_ms = 40}",
)


@dataclass(frozen=True)
class State:
    """What a server holds."""

    descriptors: float
    threads: float
    tasks: float
    lanes: float
    memory_mib: float

    def left(self, before: "State") -> "State":
        """What it holds more than before."""
        return State(*(getattr(self, n) - getattr(before, n) for n in self.__dataclass_fields__))


def look(server: Serving) -> State:
    """A server's state now."""
    metrics = server.metrics()
    return State(
        metrics["process_open_fds"],
        metrics["voxring_threads"],
        metrics["voxring_tasks"],
        metrics["voxring_lanes.used"],
        server.memory_mib(),
    )


def settled(server: Serving, before: State) -> State:
    """A server's state once it holds no more than before, or when that takes too long."""
    deadline = time.monotonic() + QUIET_S
    while True:
        left = (now := look(server)).left(before)
        counts = (left.descriptors, left.threads, left.tasks, left.lanes)
        if max(counts) <= 0 or time.monotonic() > deadline:
            return now
        time.sleep(0.2)


def question() -> bytes:
    """Sound that is a whole utterance to a scripted `turn`."""
    times = np.arange(RATE // 5) / RATE
    speech = (8000 * np.sin(2 * np.pi * 300 * times)).astype("<i2").tobytes()
    return speech + bytes(2 * RATE // 2)


async def come_in(url: str) -> ClientConnection:
    """A connection; who finds no place (the last one's lane is being closed) comes again.

    Raises:
        InvalidStatus: refused for another reason, or for PATIENCE_S.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await connect(url, compression=None, proxy=None, max_queue=None)
        except InvalidStatus as refused:
            if refused.response.status_code != 503 or time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.02)


async def converse(url: str, sound: bytes, *, tears_off: bool) -> None:
    """One short conversation."""
    socket = await come_in(url)
    try:
        await socket.send(json.dumps({"type": "start", "version": 1, "rate": RATE}))
        await socket.send(sound)
        await until(socket, "sound_started" if tears_off else "turn_ended")
        if tears_off:
            peer = socket.transport.get_extra_info("socket")
            peer.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, RESET)
            socket.transport.abort()
    finally:
        await socket.close()


async def until(socket: ClientConnection, type: str) -> None:
    """Read up to an event."""
    async for message in socket:
        if isinstance(message, str) and json.loads(message)["type"] == type:
            return
    raise ConnectionClosed(None, None)


async def converse_often(url: str, count: int, reset_every: int = 10) -> int:
    """So many conversations, some at once; how many were torn off."""
    numbers = iter(range(count))
    sound = question()
    torn = 0

    async def one_after_the_other() -> None:
        nonlocal torn
        for number in numbers:
            tears_off = number % reset_every == reset_every - 1
            await converse(url, sound, tears_off=tears_off)
            torn += tears_off

    await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
    return torn


def measure(count: int, progress: Callable[[str], None]) -> dict[str, Figure]:
    """What `count` conversations leave behind, less what the first tenth of them did once."""
    with serving("scripted", SETTINGS) as server:
        url = server.websocket()
        progress("short conversations: the first")
        torn = asyncio.run(converse_often(url, count // 10))
        before = settled(server, look(server))
        progress(f"short conversations: {count - count // 10} more")
        torn += asyncio.run(converse_often(url, count - count // 10))
        left = settled(server, before).left(before)
    return {
        "sessions": count,
        "sessions_reset": torn,
        "left_descriptors": left.descriptors,
        "left_lanes": left.lanes,
        "left_threads": left.threads,
        "left_tasks": left.tasks,
        "left_memory_mib": left.memory_mib,
    }
