"""Random messages to an endpoint: each is told as wrong or ends in a documented close, at once."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from benchmarks.endpoint_kills import Talker
from benchmarks.endpoint_server import Serving, serving
from benchmarks.endpoint_sessions import come_in
from benchmarks.result import Figure
from pipeline.endpoint.voice.messages import BadMessageError, parse

MESSAGES = 40  # on one connection, at most
ANSWER_S = 20.0
CLOSES = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1013, 4001, 4002, 4003}
LIMIT_KIB = 64  # of a message
NEIGHBOUR_EVERY = 100  # connections between two questions of a neighbour
KEYS = (
    *("rate", "version", "answer", "samples", "final", "audio", "session", "item", "item_id"),
    *("response", "event_id", "content_index", "audio_end_ms", "instructions", "encoding"),
)
SERVER = (
    "pipeline.lanes=4",
    "serve.max_load=0",
    f"serve.max_message_kib={LIMIT_KIB}",
    "serve.open_timeout_s=2.0",
    'llm.options={replies = ["Yes."]}',
)


class Kind(StrEnum):
    """How a message goes over the wire."""

    TEXT = "text"
    BINARY = "binary"
    BROKEN = "broken"  # a text frame that is not UTF-8


@dataclass(frozen=True)
class Message:
    """One message."""

    kind: Kind
    payload: str | bytes

    async def send(self, socket: ClientConnection) -> None:
        """Send it."""
        await socket.send(self.payload, text=self.kind is not Kind.BINARY)


class Dialect(Protocol):
    """A protocol under attack.

    Attributes:
        path: of the endpoint.
        types: of its messages.
    """

    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def types(self) -> tuple[str, ...]: ...  # noqa: D102

    async def open(self, socket: ClientConnection) -> None:
        """Begin a conversation in good order."""

    def is_wrong(self, message: str | bytes) -> bool:
        """Whether a message must be answered by an error."""

    def sync(self) -> str:
        """A message that is answered by an error which `is_sync` knows."""

    def is_sync(self, event: dict[str, Any]) -> bool:
        """Whether this is that answer."""


class Voice:
    """The binary protocol."""

    path = "/v1/voice"
    types = ("start", "commit", "cancel", "mute", "unmute", "lock", "unlock", "played")

    async def open(self, socket: ClientConnection) -> None:
        """With its first message."""
        await socket.send(json.dumps({"type": "start", "version": 1, "rate": 16_000}))
        await socket.recv()

    def is_wrong(self, message: str | bytes) -> bool:
        """What is no message; a second start is wrong, too. Anything may be sound."""
        if isinstance(message, bytes):
            return False
        try:
            return parse(message).type == "start"
        except BadMessageError:
            return True

    def sync(self) -> str:
        """An unknown type, whose name is repeated in the error."""
        return json.dumps({"type": "sync-me"})

    def is_sync(self, event: dict[str, Any]) -> bool:
        """By that name."""
        return event["type"] == "error" and "sync-me" in event["message"]


class Realtime:
    """The OpenAI Realtime protocol."""

    path = "/v1/realtime?model=voxring"
    types = (
        "session.update",
        "input_audio_buffer.append",
        "input_audio_buffer.commit",
        "input_audio_buffer.clear",
        "conversation.item.create",
        "conversation.item.truncate",
        "conversation.item.delete",
        "conversation.item.retrieve",
        "response.create",
        "response.cancel",
    )

    async def open(self, socket: ClientConnection) -> None:
        """The server speaks first."""
        await socket.recv()

    def is_wrong(self, message: str | bytes) -> bool:
        """What is no JSON object with a known type, in text; of the rest the server judges."""
        if isinstance(message, bytes):
            return True
        try:
            event = json.loads(message)
        except (ValueError, RecursionError):
            return True
        return not isinstance(event, dict) or event.get("type") not in self.types

    def sync(self) -> str:
        """An unknown type; the error names the event."""
        return json.dumps({"type": "nonsense", "event_id": "sync-me"})

    def is_sync(self, event: dict[str, Any]) -> bool:
        """By that name."""
        return event["type"] == "error" and bool(event["error"].get("event_id") == "sync-me")


def messages(dialect: Dialect) -> st.SearchStrategy[Message]:
    """Of every sort."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from(["<|im_end|>", "AAAA", "AAA", "=", "\0", "pcm16", "item_1", "1e999"]),
    )
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=12,
    )
    keys = st.sampled_from(KEYS)
    typed = st.builds(
        lambda named, rest: json.dumps({**rest, "type": named}),
        st.sampled_from(dialect.types) | st.text(max_size=12),
        st.dictionaries(keys, values, max_size=5),
    )
    texts = st.one_of(
        typed,
        typed.map(lambda text: text[: len(text) // 2]),
        values.map(json.dumps),
        st.text(max_size=200),
        st.sampled_from(["", "{", "[" * 5000, '{"type":' * 500, "null", "NaN"]),
    )
    sizes = st.sampled_from([0, 1, 2, 3, 639, 640, 641, 4096, LIMIT_KIB * 1024])
    return st.one_of(
        texts.map(lambda text: Message(Kind.TEXT, text)),
        texts.map(lambda text: Message(Kind.TEXT, text)),
        st.binary(max_size=300).map(lambda data: Message(Kind.BINARY, data)),
        sizes.map(lambda size: Message(Kind.BINARY, b"\x11" * size)),
        texts.map(lambda text: Message(Kind.BINARY, text.encode(errors="replace"))),
    )


ENDS = st.sampled_from(
    [
        Message(Kind.BROKEN, b'{"type":"\xff"}'),
        Message(Kind.BROKEN, b"\xed\xa0\x80"),
        Message(Kind.TEXT, "x" * (LIMIT_KIB * 1024 + 1)),
        Message(Kind.BINARY, b"\0" * (LIMIT_KIB * 1024 + 1)),
    ]
)  # that a connection does not survive


@dataclass
class Verdict:
    """What became of all messages."""

    sent: int = 0
    connections: int = 0
    untold: int = 0
    dead: int = 0
    closes: dict[int, int] = field(default_factory=dict)

    @property
    def odd_closes(self) -> int:
        """With a code that is not documented."""
        return sum(count for code, count in self.closes.items() if code not in CLOSES)


async def attack(
    url: str, dialect: Dialect, sent: list[Message], verdict: Verdict, *, opens: bool = True
) -> None:
    """One connection: everything at once, then a look at what came of it."""
    verdict.connections += 1
    async with await come_in(url) as socket:
        try:
            if opens:
                await dialect.open(socket)
            for message in sent:
                verdict.sent += 1
                await message.send(socket)
            await socket.send(dialect.sync())
            async with asyncio.timeout(ANSWER_S):
                told = await _errors(socket, dialect)
        except TimeoutError:
            verdict.dead += 1
            return
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else 1006
            verdict.closes[code] = verdict.closes.get(code, 0) + 1
            return
    wrong = sum(dialect.is_wrong(message.payload) for message in sent)
    verdict.untold += max(0, wrong - told)


async def _errors(socket: ClientConnection, dialect: Dialect) -> int:
    """How many errors come before the answer to the sync message."""
    told = 0
    while True:
        message = await socket.recv()
        if isinstance(message, bytes):
            continue
        event = json.loads(message)
        if dialect.is_sync(event):
            return told
        told += event["type"] == "error"


class Neighbour:
    """Somebody who talks on the same server all the while.

    Attributes:
        hurt: questions that were not answered.
    """

    def __init__(self, runner: asyncio.Runner, url: str) -> None:
        self._runner = runner
        self._url = url
        self.hurt = 0

    def ask(self) -> None:
        """One conversation with one question."""
        self._runner.run(self._ask())

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_S), await come_in(self._url) as socket:
                talker = Talker(socket)
                await talker.begin()
                self.hurt += (await talker.until("turn_ended"))["outcome"] != "answered"
        except (TimeoutError, OSError, ConnectionClosed):
            self.hurt += 1


def attack_often(
    server: Serving, dialect: Dialect, count: int, progress: Callable[[str], None]
) -> tuple[Verdict, int]:
    """At least `count` messages; what became of them, and how often a neighbour was hurt."""
    verdict = Verdict()
    url = server.websocket(dialect.path)
    one = messages(dialect)
    plans = st.tuples(st.lists(one, min_size=MESSAGES, max_size=MESSAGES), st.booleans(), ENDS)
    with asyncio.Runner() as runner:
        neighbour = Neighbour(runner, server.websocket(Voice.path))

        @seed(7)
        @settings(
            max_examples=-(-count // MESSAGES),
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(plans)
        def one_connection(plan: tuple[list[Message], bool, Message]) -> None:
            sent, ends, end = plan
            opens = verdict.connections % 10 != 9
            sent = [*sent, end] if ends else sent
            runner.run(attack(url, dialect, sent, verdict, opens=opens))
            if verdict.connections % NEIGHBOUR_EVERY == 0:
                progress(f"fuzz of {dialect.path}: {verdict.sent} messages")
                neighbour.ask()

        while verdict.sent < count:
            one_connection()
        neighbour.ask()
    return verdict, neighbour.hurt


def measure(count: int, progress: Callable[[str], None]) -> dict[str, Figure]:
    """Both protocols, with half of the messages each."""
    found: dict[str, Figure] = {}
    dialects: dict[str, Dialect] = {"voice": Voice(), "realtime": Realtime()}
    total = Verdict()
    hurt_in_all = 0
    with serving("scripted", SERVER) as server:
        for name, dialect in dialects.items():
            verdict, hurt = attack_often(server, dialect, count // len(dialects), progress)
            found[f"fuzz_messages.{name}"] = verdict.sent
            total.sent += verdict.sent
            total.connections += verdict.connections
            total.untold += verdict.untold
            total.dead += verdict.dead
            for code, times in verdict.closes.items():
                total.closes[code] = total.closes.get(code, 0) + times
            hurt_in_all += hurt
    return {
        "fuzz_messages": total.sent,
        **found,
        "fuzz_connections": total.connections,
        "fuzz_untold": total.untold,
        "fuzz_dead": total.dead,
        "fuzz_odd_closes": total.odd_closes,
        "fuzz_hurt": hurt_in_all,
    }
