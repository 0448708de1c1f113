"""Many people talking to one endpoint: a program of its own, so that it is not on its event loop.

Each connection plays the same clip again and again with silence between, and is somewhere else in
that cycle than its neighbours, so that a set share of them speaks at any time.
"""

import argparse
import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import soundfile
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

RATE = 16_000
BYTES_A_MS = RATE * 2 // 1000
SETTLE_S = 1.0  # of sound before the first clip


@dataclass(frozen=True)
class Plan:
    """What the clients do.

    Attributes:
        frame_ms: of sound in one message.
        seconds: that each connection sends.
        share: of the connections that speak at any time.
    """

    url: str
    connections: int
    frame_ms: int
    seconds: float
    share: float = 0.2
    echo: bool = False
    clip: str = ""


@dataclass
class Findings:
    """What all clients saw.

    Attributes:
        latency_ms: of each answer: from the frame that held the soft end to the first sound.
        echo_ms: of each frame, from a bare server.
        outcomes: of turns.
        behind_ms: how late the worst frame was sent: more than a frame, and the clients are slow.
    """

    latency_ms: list[float] = field(default_factory=list)
    echo_ms: list[float] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=dict)
    dropped: int = 0
    errors: list[str] = field(default_factory=list)
    refused: int = 0
    behind_ms: float = 0.0
    cpu_s: float = 0.0


class Talker:
    """One connection.

    Args:
        cycle: PCM that it sends over and over.
        offset: bytes into the cycle at which it begins.
    """

    def __init__(self, plan: Plan, cycle: bytes, offset: int, found: Findings) -> None:
        self._plan = plan
        self._cycle = cycle
        self._offset = offset
        self._found = found
        self._sent_at: list[float] = []  # of each frame
        self._ends: dict[int, int] = {}  # of turns: ms of sound in which they ended
        self._began: int | None = None  # the turn whose answer has been announced

    async def run(self, start_at: float) -> None:
        """Connect, talk, hang up; whatever happens is found."""
        try:
            async with connect(self._plan.url, compression=None, proxy=None) as socket:
                await self._talk(socket, start_at)
        except InvalidStatus:
            self._found.refused += 1
        except (OSError, ConnectionClosed, TimeoutError) as error:
            self._found.errors.append(f"{type(error).__name__}: {error}")

    async def _talk(self, socket: ClientConnection, start_at: float) -> None:
        if not self._plan.echo:
            start = {"type": "start", "version": 1, "rate": RATE}
            await socket.send(json.dumps(start))
            await socket.recv()
        listener = asyncio.create_task(self._listen(socket))
        await self._send(socket, start_at)
        await socket.close()
        await listener

    async def _send(self, socket: ClientConnection, start_at: float) -> None:
        frame = self._plan.frame_ms * BYTES_A_MS
        at = self._offset
        doubled = self._cycle + self._cycle[:frame]
        for n in range(int(self._plan.seconds * 1000 / self._plan.frame_ms)):
            due = start_at + n * self._plan.frame_ms / 1000
            now = time.monotonic()
            if due > now:
                await asyncio.sleep(due - now)
                now = time.monotonic()
            self._found.behind_ms = max(self._found.behind_ms, (now - due) * 1000)
            self._sent_at.append(now)
            await socket.send(doubled[at : at + frame])
            at = (at + frame) % len(self._cycle)

    async def _listen(self, socket: ClientConnection) -> None:
        echoed = 0
        try:
            async for message in socket:
                if self._plan.echo:
                    self._found.echo_ms.append((time.monotonic() - self._sent_at[echoed]) * 1000)
                    echoed += 1
                elif isinstance(message, bytes):
                    self._hear()
                else:
                    self._take(json.loads(message))
        except ConnectionClosed as error:
            self._found.errors.append(f"{type(error).__name__}: {error}")

    def _hear(self) -> None:
        """The first sound of an answer: how long after the frame that ended its question?"""
        turn, self._began = self._began, None
        if turn is not None and (end := self._ends.pop(turn, None)) is not None:
            sent_at = self._sent_at[max(0, end - 1) // self._plan.frame_ms]
            self._found.latency_ms.append((time.monotonic() - sent_at) * 1000)

    def _take(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "speech_stopped":
                self._ends[event["turn"]] = event["at_ms"]
            case "sound_started":
                self._began = event["turn"]
            case "sound_dropped":
                self._found.dropped += 1
            case "error":
                self._found.errors.append(event["message"])
            case "turn_ended":
                outcome = event["outcome"]
                self._found.outcomes[outcome] = self._found.outcomes.get(outcome, 0) + 1


def cycle_of(clip: Path, share: float, frame_ms: int) -> bytes:
    """The clip and silence behind it, as PCM: of it, `share` is the clip."""
    samples, rate = soundfile.read(clip, dtype="int16")
    assert rate == RATE, f"{clip} has {rate} Hz"
    frame = frame_ms * RATE // 1000
    length = -(-int(len(samples) / share) // frame) * frame
    return bytes(samples.tobytes() + bytes(2 * (length - len(samples))))


async def talk(plan: Plan) -> Findings:
    """All connections at once."""
    found = Findings()
    cycle = cycle_of(Path(plan.clip), plan.share, plan.frame_ms)
    frame = plan.frame_ms * BYTES_A_MS
    frames = len(cycle) // frame
    now = time.monotonic() + 1.0
    talkers = []
    for n in range(plan.connections):
        offset = frames * n // plan.connections * frame
        start_at = now + 1.0 + plan.frame_ms / 1000 * n / plan.connections
        talkers.append(Talker(plan, cycle, offset, found).run(start_at))
    await asyncio.gather(*talkers)
    found.cpu_s = time.process_time()
    return found


def main() -> int:
    """Read a plan from the command line, print what was found as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan", help="a Plan, as JSON")
    plan = Plan(**json.loads(parser.parse_args().plan))
    json.dump(asdict(asyncio.run(talk(plan))), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
