"""More and more people, until the server refuses them; what those inside hear then."""

import asyncio
import json
from collections.abc import Callable

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from benchmarks.endpoint_real import RATE, TURN_S, Heard, Person, clip
from benchmarks.endpoint_server import Serving, serving
from benchmarks.result import Figure
from benchmarks.sample import percentile

PEOPLE = 16
EVERY_S = 6.0  # somebody comes: what the server measures is of 10 s
FULL_S = 40.0  # in which whoever is inside goes on to talk


async def crowd(server: Serving, people: int) -> tuple[int, Heard]:
    """So many people come, one after the other; whoever is let in talks until the end.

    Returns:
        How many were let in; and what they heard once all had come.
    """
    sound, text = clip()
    inside: list[tuple[ClientConnection, asyncio.Task[None]]] = []
    heard = Heard()
    try:
        for _ in range(people):
            heard.knocked += 1
            try:
                socket = await connect(server.websocket(), compression=None, proxy=None)
            except InvalidStatus:
                heard.refused += 1
            else:
                await socket.send(json.dumps({"type": "start", "version": 1, "rate": RATE}))
                async with asyncio.timeout(TURN_S):
                    await socket.recv()
                person = Person(socket, sound, text, heard)
                inside.append((socket, asyncio.create_task(person.ask(1000))))
            await asyncio.sleep(EVERY_S)
        for values in (heard.first_audio_ms, heard.outcomes, heard.right):
            values.clear()
        await asyncio.sleep(FULL_S)
    finally:
        for _, talk in inside:
            talk.cancel()
        ends = await asyncio.gather(*(talk for _, talk in inside), return_exceptions=True)
        for socket, _ in inside:
            await socket.close()
    for end in ends:
        if isinstance(end, Exception):  # somebody was thrown out, or got no answer
            heard.outcomes.append(str(end))
    return len(inside), heard


def measure(progress: Callable[[str], None]) -> dict[str, Figure]:
    """All metrics of this part."""
    progress(f"real models: {PEOPLE} come, one every {EVERY_S:g} s")
    with serving("laptop", [f"pipeline.lanes={PEOPLE}"]) as server:
        inside, heard = asyncio.run(crowd(server, PEOPLE))
        underruns = server.metrics()["voxring_underruns_total"]
    answered = sum(outcome == "answered" for outcome in heard.outcomes)
    return {
        "crowd_inside": inside,
        "crowd_refused": heard.refused,
        "crowd_first_audio_p50_ms": percentile(heard.first_audio_ms, 50),
        "crowd_first_audio_p95_ms": percentile(heard.first_audio_ms, 95),
        "crowd_answered_share": answered / len(heard.outcomes) if heard.outcomes else None,
        "crowd_right_share": sum(heard.right) / len(heard.right) if heard.right else None,
        "crowd_underruns": round(underruns),
    }
