"""Real models, one to four people who ask one after the other, and further ones at the door."""

import asyncio
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import soundfile
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from benchmarks.endpoint_server import Serving, serving
from benchmarks.result import Figure
from benchmarks.sample import percentile

DEMOS = Path(__file__).parents[1] / "demos"
RATE = 16_000
FRAME = RATE // 50  # samples: 20 ms
PAUSE_S = 2.0  # between the end of an answer and the next question
WARM_S = 12.0  # of talk before anybody else knocks: what the server measures is of 10 s
TURN_S = 60.0


@dataclass
class Heard:
    """What one group of people heard."""

    first_audio_ms: list[float] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    refused: int = 0
    knocked: int = 0


def clip() -> tuple[bytes, str]:
    """The question that voxring ships, and its words."""
    manifest = tomllib.loads((DEMOS / "manifest.toml").read_text(encoding="utf-8"))
    first = manifest["clip"][0]
    samples, rate = soundfile.read(DEMOS / first["file"], dtype="int16")
    assert rate == RATE, f"{first['file']} has {rate} Hz"
    return bytes(samples.tobytes()), str(first["text"])


def plain(text: str) -> str:
    """Words alone."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


class Person:
    """Asks the same question again and again, with a microphone that is always on."""

    def __init__(self, socket: ClientConnection, sound: bytes, text: str, heard: Heard) -> None:
        self._socket = socket
        self._sound = sound
        self._text = text
        self._heard = heard
        self._said = b""  # what is still to be sent of the question

    async def ask(self, times: int) -> None:
        """So many turns, one after the other."""
        microphone = asyncio.create_task(self._microphone())
        try:
            for _ in range(times):
                await asyncio.sleep(PAUSE_S)
                self._said = self._sound
                async with asyncio.timeout(TURN_S):
                    self._note(await self._turn_ended())
        finally:
            microphone.cancel()
            await asyncio.gather(microphone, return_exceptions=True)

    async def _microphone(self) -> None:
        due = asyncio.get_running_loop().time()
        while True:
            frame, self._said = self._said[: 2 * FRAME], self._said[2 * FRAME :]
            await self._socket.send(frame.ljust(2 * FRAME, b"\0"))
            due += FRAME / RATE
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))

    async def _turn_ended(self) -> dict[str, Any]:
        while True:
            message = await self._socket.recv()
            if isinstance(message, str):
                event: dict[str, Any] = json.loads(message)
                if event["type"] == "turn_ended":
                    return event

    def _note(self, event: dict[str, Any]) -> None:
        self._heard.outcomes.append(event["outcome"])
        self._heard.right.append(plain(event["user_text"]) == plain(self._text))
        if event["first_audio_ms"] is not None:
            self._heard.first_audio_ms.append(event["first_audio_ms"])


async def group(server: Serving, people: int, turns: int) -> Heard:
    """So many people talk; meanwhile others knock."""
    heard = Heard()
    sound, text = clip()
    sockets = [
        await connect(server.websocket(), compression=None, proxy=None) for _ in range(people)
    ]
    try:
        for socket in sockets:
            await socket.send(json.dumps({"type": "start", "version": 1, "rate": RATE}))
            await socket.recv()
        talk = asyncio.gather(*(Person(s, sound, text, heard).ask(turns) for s in sockets))
        knocks = asyncio.create_task(knock(server, heard))
        await talk
        knocks.cancel()
        await asyncio.gather(knocks, return_exceptions=True)
    finally:
        for socket in sockets:
            await socket.close()
    return heard


async def knock(server: Serving, heard: Heard) -> None:
    """Somebody more asks to be let in, now and then; whoever is let in leaves at once."""
    await asyncio.sleep(WARM_S)
    while True:
        heard.knocked += 1
        try:
            async with connect(server.websocket(), compression=None, proxy=None):
                pass
        except InvalidStatus:
            heard.refused += 1
        await asyncio.sleep(1.0)


def measure(most: int, turns: int, progress: Callable[[str], None]) -> dict[str, Figure]:
    """One to `most` people, each group on a server that has warmed up; it lets them all in."""
    found: dict[str, Figure] = {}
    for people in range(1, most + 1):
        progress(f"real models: {people} at once")
        # The group itself comes in while the machine is still quiet.
        with serving("laptop", [f"pipeline.lanes={people + 1}"]) as server:
            asyncio.run(group(server, 1, 1))
            underruns = server.metrics()["voxring_underruns_total"]
            heard = asyncio.run(group(server, people, turns))
            underruns = server.metrics()["voxring_underruns_total"] - underruns
        answered = sum(outcome == "answered" for outcome in heard.outcomes)
        of_group: dict[str, Figure] = {
            f"real_first_audio_p50_ms.{people}": percentile(heard.first_audio_ms, 50),
            f"real_first_audio_p95_ms.{people}": percentile(heard.first_audio_ms, 95),
            f"real_right_share.{people}": sum(heard.right) / len(heard.right),
            f"real_answered_share.{people}": answered / len(heard.outcomes),
            f"real_underruns.{people}": round(underruns),
            f"real_knocked.{people}": heard.knocked,
            f"real_refused.{people}": heard.refused,
        }
        # The largest group's figures stand without its number, too.
        found |= of_group | {name.partition(".")[0]: value for name, value in of_group.items()}
    return found
