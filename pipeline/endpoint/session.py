"""What one connection owns, and what its protocol may rely on."""

import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.client_lane import ClientLane
from pipeline.config import Config
from pipeline.endpoint.logs import SessionLog
from pipeline.endpoint.peer import Peer, Wording
from pipeline.events import Event, Fault, TurnEnded
from pipeline.pipeline import Pipeline

Observer = Callable[["Session", Event], None]


@dataclass(eq=False)
class Session:
    """One connection's part of the server.

    Attributes:
        config: the whole configuration; the limits are in `config.serve`.
        owner: the name of the token that it came with; "": none was needed.
        query: of the request: the last value of each key.
        observe: sees every event of the conversation before its protocol does.
        headers: of the request, by their names in lower case.
        name: for logs and for whoever asks about them; it opens nothing.
        log: lines about this connection; texts of people only through `log.texts`.
        lane: the conversation; None before `open`.
        since: monotonic s at which it began.
    """

    config: Config
    pipeline: Pipeline
    owner: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    observe: Observer = lambda session, event: None
    headers: Mapping[str, str] = field(default_factory=dict)
    name: str = field(default_factory=lambda: secrets.token_hex(6))
    lane: ClientLane | None = None
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.log = SessionLog(self.name, keeps_input=self.config.serve.log_input)
        if self.owner:
            self.log.bind(token=self.owner)

    async def open(self, instructions: str | None = None) -> ClientLane:
        """Claim the lane whose place this connection holds; once.

        Args:
            instructions: the system prompt, if it is not the configured one.

        Raises:
            VoxringError: it cannot be opened. The server tells the client and closes.
        """
        assert self.lane is None, "a connection has one conversation"
        lead_ms = self.config.serve.lead_ms
        self.lane = await self.pipeline.open(instructions=instructions, lead_ms=lead_ms)
        self.log.bind(lane=self.lane.number)
        return self.lane

    async def events(self) -> AsyncIterator[Event]:
        """What happens in the conversation, in order, until it is closed.

        What the metrics and the log need of it has been taken on the way.

        Raises:
            StageError: the pipeline is over.
        """
        assert self.lane
        async for event in self.lane:
            self._write(event)
            self.observe(self, event)
            yield event

    def _write(self, event: Event) -> None:
        """A line for what somebody may look for."""
        match event:
            case TurnEnded(timeline=timeline):
                texts = self.log.texts(user=event.transcript, reply=event.reply, heard=event.heard)
                self.log.info(
                    "turn ended",
                    turn=timeline.turn,
                    answer=timeline.answer,
                    outcome=timeline.outcome.label,
                    first_audio_ms=timeline.first_audio_ms,
                    **texts,
                )
            case Fault(turn=turn, message=message):
                self.log.warning("fault", turn=turn, message=message)

    @property
    def is_in_turn(self) -> bool:
        """A turn has begun and has not ended."""
        return self.lane is not None and self.lane.turns_begun > self.lane.turns_ended

    async def close(self) -> None:
        """Give the lane back. The server does this when the protocol returns."""
        if self.lane:
            await self.lane.close()


class Handler(Protocol):
    """The module `handler` of a protocol's package.

    Attributes:
        WORDING: how the server's own news are told.
    """

    WORDING: Wording

    async def serve(self, peer: Peer, session: Session) -> None:
        """Serve one connection until it ends.

        It is called after the handshake; its place is reserved, its lane not claimed yet: call
        `session.open()` once. Return when `peer` has no more messages. It is cancelled when the
        server ends it (session too long, drain over). Whatever happens, the server then closes the
        lane, and the connection if it is still open. Any error but `ConnectionClosed` and
        `VoxringError` is a fault of the program: logged, told as 1011, and no other session's.
        """
