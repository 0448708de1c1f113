"""The sleeping end of each channel: a program that says when something arrived.

`python -m benchmarks.receiver token --fds acks=3,arena=4,…`; benchmarks/channel.py starts it.
"""

import argparse
import asyncio
import importlib
import json
import struct
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from ringbuf import Arena, Kind, TokenRing, TokenRun, die_with_parent, lifeline
from stages.run import parse_fds

if TYPE_CHECKING:
    from multiprocessing.queues import Queue, SimpleQueue

READER, WRITER, RING = "reader", "writer", "ids"
BATCH = 256  # ids
PARK_S = 1.0
ACK = struct.Struct("<qq")  # a number, and when it was there: monotonic ns
HOST = "127.0.0.1"
MODES = ("token", "batch", "websocket")


class Acks:
    """Tells the sender what arrived when.

    Args:
        pipe: the writing end.
    """

    def __init__(self, pipe: "Connection[bytes, bytes]") -> None:
        self._pipe = pipe

    def send(self, number: int, at: int = 0) -> None:
        """Tell that `number` was here at `at`, monotonic ns."""
        self._pipe.send_bytes(ACK.pack(number, at))


def receive_tokens(arena: Arena, acks: Acks) -> None:
    """Acknowledge each id, then sleep on the doorbell: the loop of a stage (stages/runner.py)."""
    bell = arena.bell
    rings = [arena.lane(lane).token(RING) for lane in range(arena.layout.lanes)]
    acks.send(0)
    while True:
        for lane in bell.take():
            for id, at in read_ids(rings[lane]):
                acks.send(id, at)
        bell.park(PARK_S)


def read_ids(ring: TokenRing) -> list[tuple[int, int]]:
    """Each run's first id and when it was there."""
    with ring.read() as batch:
        return [(int(run.ids[0]), time.monotonic_ns()) for run in batch.runs()]


def receive_batches(arena: Arena, acks: Acks) -> None:
    """Read batches and check them; acknowledge only the end of a series."""
    bell, ring = arena.bell, arena.lane(0).token(RING)
    acks.send(0)
    position = 0
    while True:
        for _ in bell.take():
            while len(ring):
                with ring.read(BATCH) as batch:
                    for run in batch.runs():
                        position = follow(run, position, acks)
        bell.park(PARK_S)


def follow(run: TokenRun, position: int, acks: Acks) -> int:
    """The position after a run; 0 after the end.

    Raises:
        ValueError: ids are missing or wrong.
    """
    last = int(run.ids[-1])
    if run.position != position or (run.kind is Kind.ID and last != position + len(run.ids) - 1):
        raise ValueError(f"ids up to {last} at position {run.position}, expected {position}")
    if run.kind is Kind.ID:
        return position + len(run.ids)
    acks.send(position, time.monotonic_ns())
    return 0


def receive_queue(
    queue: "SimpleQueue[int | None] | Queue[int | None]", pipe: "Connection[bytes, bytes]"
) -> None:
    """Acknowledge each id of a queue until there is None."""
    acks = Acks(pipe)
    acks.send(0)
    while (id := queue.get()) is not None:
        acks.send(id, time.monotonic_ns())


async def receive_websocket(acks: Acks) -> None:
    """Serve one socket; its first acknowledgement is the port."""
    websockets = importlib.import_module("websockets.asyncio.server")

    async def hear(socket: Any) -> None:
        async for message in socket:
            id = json.loads(message)["id"]
            acks.send(id, time.monotonic_ns())

    async with websockets.serve(hear, HOST, 0, compression=None) as server:
        acks.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()


def main(arguments: Sequence[str] | None = None) -> int:
    """Receive until the parent ends."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--fds", required=True)
    options = parser.parse_args(arguments)
    fds, bells = parse_fds(options.fds)
    lifeline(fds["lifeline"])
    die_with_parent()
    acks = Acks(Connection(fds["acks"], readable=False))
    if options.mode == "websocket":
        asyncio.run(receive_websocket(acks))
        return 0
    arena = Arena.attach(fds["arena"], READER, bells)
    (receive_tokens if options.mode == "token" else receive_batches)(arena, acks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
