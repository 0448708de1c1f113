"""Whatever is sent to the Realtime protocol: an answer in words each time, and nobody else harmed.

For `endpoint --only fuzz`: connections send `realtime_messages`, one after the other, and between
them, on the same connection, a right one whose answer must come. A connection that the server
closes for what was sent (a frame that is no text) is opened again.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from benchmarks.realtime_messages import message

PATH = "/v1/realtime?model=fuzz"
BURST = 50  # messages between two looks whether the connection is alive
ANSWER_S = 20.0
PLACE_S, LATER_S = 20.0, 0.1
NO_PLACE = 503
PROPER_CLOSES = (1003, 1007, 1008, 1009)
NOT_UTF8 = b"\x81\x85\x00\x00\x00\x00\xff\xfe\xfa\xf5\xff"  # a masked frame of text


async def fuzz(url: str, count: int, seed: int = 0, connections: int = 4) -> dict[str, int]:
    """Send messages.

    Args:
        url: of an endpoint, `ws://...`.
        count: messages in all.

    Returns:
        `sent`, `errors` (events), `closes` (proper ones), `refused` (no place was free yet),
        `unanswered` and `improper_closes`, which must be 0.
    """
    tallies = [Counter[str]() for _ in range(connections)]
    await asyncio.gather(
        *(
            _one(f"{url}{PATH}", count // connections, Random(seed * 1000 + n), tallies[n])
            for n in range(connections)
        )
    )
    total = sum(tallies, Counter[str]())
    names = ("sent", "errors", "closes", "refused", "unanswered", "improper_closes")
    return {name: total[name] for name in names}


async def _one(url: str, count: int, random: Random, tally: Counter[str]) -> None:
    while tally["sent"] < count:
        async with _dial(url, tally) as socket:
            try:
                while tally["sent"] < count:
                    burst = min(BURST, count - tally["sent"])
                    for _ in range(burst):
                        await socket.send(message(random))
                        tally["sent"] += 1
                    await _is_alive(socket, tally)
                    if random.randrange(10) == 0:
                        socket.transport.write(NOT_UTF8)
                        tally["sent"] += 1
                        await _drain(socket, tally)
            except ConnectionClosed as closed:
                is_proper = closed.rcvd is not None and closed.rcvd.code in PROPER_CLOSES
                tally["closes" if is_proper else "improper_closes"] += 1


@asynccontextmanager
async def _dial(url: str, tally: Counter[str]) -> AsyncIterator[ClientConnection]:
    """Connect; where the lanes of those that were closed are not free yet, a little later."""
    until = asyncio.get_running_loop().time() + PLACE_S
    while True:
        try:
            socket = await connect(url, compression=None, proxy=None, max_size=None)
            break
        except InvalidStatus as refusal:
            is_late = asyncio.get_running_loop().time() > until
            if refusal.response.status_code != NO_PLACE or is_late:
                raise
            tally["refused"] += 1
            await asyncio.sleep(LATER_S)
    async with socket:
        yield socket


async def _is_alive(socket: ClientConnection, tally: Counter[str]) -> None:
    """The answer to a message that is right must come."""
    name = f"alive-{tally['sent']}"
    probe = {"type": "conversation.item.retrieve", "item_id": "none", "event_id": name}
    await socket.send(json.dumps(probe))
    try:
        async with asyncio.timeout(ANSWER_S):
            while True:
                error = _read(await socket.recv(), tally)
                if error == name:
                    return
    except TimeoutError:
        tally["unanswered"] += 1


async def _drain(socket: ClientConnection, tally: Counter[str]) -> None:
    """Read until it is closed, as it must be."""
    try:
        async with asyncio.timeout(ANSWER_S):
            while True:
                _read(await socket.recv(), tally)
    except TimeoutError:
        tally["unanswered"] += 1


def _read(told: str | bytes, tally: Counter[str]) -> str | None:
    """Count it; the client's name of the message that it refuses."""
    event = json.loads(told)
    if event["type"] != "error":
        return None
    tally["errors"] += 1
    name: str | None = event["error"]["event_id"]
    return name
