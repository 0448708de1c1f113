"""A bare websocket server that sends back what it gets: what the library alone costs."""

import asyncio
import contextlib
import sys

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed


async def echo(connection: ServerConnection) -> None:
    """Send back every message; who leaves first need not hear the rest."""
    with contextlib.suppress(ConnectionClosed):
        async for message in connection:
            await connection.send(message)


async def main() -> None:
    """Serve on a free port, which is printed, until standard input ends."""
    async with serve(echo, "127.0.0.1", 0, compression=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
