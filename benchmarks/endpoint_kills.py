"""kill -9 of each program of a server while people talk: what they are told, and for how long."""

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from benchmarks.endpoint_server import Serving, serving
from benchmarks.endpoint_sessions import RATE, come_in, question
from benchmarks.result import Figure

PEOPLE = 4
STAGES = ("turn", "asr", "llm", "tts")
EDGE = "edge"
LIMIT_S = 40.0
GAP_S = 0.6  # of silence before the next question: what goes on without a pause is the lost turn
AGAIN_S = 3.0  # for an answer to end that begins at once
SETTINGS = (
    f"pipeline.lanes={PEOPLE}",
    "serve.max_load=0",
    'llm.options={replies = ["It is time to speak."]}',
)


class Talker:
    """One person."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def begin(self) -> None:
        """Bring a conversation to where its first answer is heard."""
        await self._socket.send(json.dumps({"type": "start", "version": 1, "rate": RATE}))
        await self._socket.send(question())
        await self.until("sound_started")

    async def until(self, type: str) -> dict[str, Any]:
        """The next event of a type."""
        while True:
            message = await self._socket.recv()
            if isinstance(message, str):
                event: dict[str, Any] = json.loads(message)
                if event["type"] == type:
                    return event

    async def answered(self) -> None:
        """Ask until there is an answer: again where none comes, for sound may have been lost."""
        while True:
            await self._socket.send(bytes(int(2 * GAP_S * RATE)) + question())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_S):
                    while (await self.until("turn_ended"))["outcome"] != "answered":
                        pass  # the turn that was lost ends, too
                return


async def kill_stage(server: Serving, stage: str) -> tuple[float, int]:
    """Seconds until everybody had an answer again, and how many were told nothing."""
    async with asyncio.timeout(LIMIT_S):
        sockets = [await come_in(server.websocket()) for _ in range(PEOPLE)]
        talkers = [Talker(socket) for socket in sockets]
        await asyncio.gather(*(talker.begin() for talker in talkers))
        os.kill(server.stage(stage), signal.SIGKILL)
        began = time.monotonic()
        told = await asyncio.gather(*map(was_told, talkers))
        await asyncio.gather(*(talker.answered() for talker in talkers))
        took = time.monotonic() - began
        for socket in sockets:
            await socket.close()
    return took, told.count(False)


async def was_told(talker: Talker) -> bool:
    """Whether a client gets an error for its turn."""
    try:
        async with asyncio.timeout(5):
            return str((await talker.until("error"))["code"]) == "stage"
    except TimeoutError:
        return False


async def kill_edge(server: Serving) -> tuple[float, int]:
    """Seconds until somebody had an answer again, and how many did not see the close."""
    async with asyncio.timeout(LIMIT_S):
        sockets = [await come_in(server.websocket()) for _ in range(PEOPLE)]
        talkers = [Talker(socket) for socket in sockets]
        await asyncio.gather(*(talker.begin() for talker in talkers))
        os.kill(server.program, signal.SIGKILL)
        began = time.monotonic()
        closed = await asyncio.gather(*map(saw_the_close, talkers))
        while True:
            try:
                async with connect(server.websocket(), compression=None, proxy=None) as socket:
                    talker = Talker(socket)
                    await talker.begin()
                    await talker.until("turn_ended")
                    return time.monotonic() - began, closed.count(False)
            except (InvalidStatus, OSError, ConnectionClosed):
                await asyncio.sleep(0.1)


async def saw_the_close(talker: Talker) -> bool:
    """Whether a client sees that its connection is gone."""
    try:
        async with asyncio.timeout(5):
            await talker.until("nothing")
    except ConnectionClosed:
        return True
    except TimeoutError:
        return False
    return False


def measure(progress: Callable[[str], None]) -> dict[str, Figure]:
    """Each program in turn."""
    found: dict[str, Figure] = {}
    untold = 0
    with serving("scripted", [*SETTINGS, "pipeline.restarts=20"]) as server:
        for victim in (*STAGES, EDGE):
            progress(f"kill -9 of {victim}")
            if victim == EDGE:
                took, silent = asyncio.run(kill_edge(server))
            else:
                took, silent = asyncio.run(kill_stage(server, victim))
            found[f"kill_recovery_s.{victim}"] = took
            untold += silent
    slowest = max(value for value in found.values() if value is not None)
    return {"kill_recovery_s": slowest, **found, "kill_untold": untold}
