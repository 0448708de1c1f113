"""The OpenAI Realtime protocol on a connection; see `Handler`."""

import asyncio
import json
import secrets
import time
from typing import NoReturn

from pipeline.client_lane import ClientLane
from pipeline.endpoint.outbox import Gap
from pipeline.endpoint.peer import Peer
from pipeline.endpoint.realtime.actions import Action, Ask, Cut, Feed, Order, Say, Settle, Tell
from pipeline.endpoint.realtime.core import Core
from pipeline.endpoint.realtime.problem import problem
from pipeline.endpoint.session import Session
from pipeline.errors import AudioError

BETA = {"openai-beta": "realtime=v1", "sec-websocket-protocol": "openai-beta.realtime-v1"}
ROOM_S = 2.0  # for the language model to take what waits for it
LOOK_S = 0.02


def new_name(kind: str) -> str:
    """A name that nothing else has."""
    return f"{kind}_{secrets.token_hex(10)}"


class RealtimeWording:
    """The server's own news, as `error` events."""

    def gap(self, gap: Gap) -> str:
        """See `Wording`."""
        text = f"{gap.ms:.0f} ms of sound were left out: it is read too slowly."
        return self.error("audio_dropped", text)

    def closing(self, reason: str, in_s: float) -> str:
        """See `Wording`."""
        return self.error("session_expiring", f"{reason}; it closes in {in_s:.0f} s at most.")

    def error(self, code: str, message: str) -> str:
        """See `Wording`."""
        event = problem(message, code, kind="server_error")
        return json.dumps({**event, "event_id": new_name("event")})


WORDING = RealtimeWording()


async def serve(peer: Peer, session: Session) -> None:
    """Serve one connection; see `Handler`."""
    lane = await session.open()
    lasts_s = session.config.serve.session_s
    core = Core(
        session.config,
        session.query.get("model") or session.config.llm.model,
        new_name,
        lane.whole_words,
        *lane.before,
        expires_at=int(time.time() + lasts_s) if lasts_s else None,
        is_beta=any(word in session.headers.get(name, "") for name, word in BETA.items()),
    )
    conversation = Conversation(peer, lane, core)
    await conversation.act(core.open())
    teller = asyncio.create_task(conversation.tell_all(session))
    listener = asyncio.create_task(conversation.listen())
    try:
        done, _ = await asyncio.wait({teller, listener}, return_when=asyncio.FIRST_COMPLETED)
        done.pop().result()
    finally:
        for task in (teller, listener):
            task.cancel()
        await asyncio.gather(teller, listener, return_exceptions=True)


class Conversation:
    """Both directions of one connection."""

    def __init__(self, peer: Peer, lane: ClientLane, core: Core) -> None:
        self._peer = peer
        self._lane = lane
        self._core = core

    async def listen(self) -> None:
        """Take what the client sends, until it sends no more."""
        async for message in self._peer:
            await self.act(self._core.receive(message))

    async def tell_all(self, session: Session) -> NoReturn:
        """Tell the client what happens."""
        async for event in session.events():
            await self.act(self._core.happened(event))
        raise asyncio.CancelledError

    async def act(self, actions: list[Action]) -> None:
        """Do what the core asks for, in order."""
        for action in actions:
            match action:
                case Tell(event):
                    self._peer.tell(json.dumps(event))
                case Say(event, answer, ms):
                    self._peer.sound(json.dumps(event), answer, ms)
                case Cut(answer):
                    self._peer.cut(answer)
                case Feed(samples):
                    await self._lane.feed(samples)
                case Order() | Settle() | Ask():
                    await self._pass_on(action)

    async def _pass_on(self, action: Order | Settle | Ask) -> None:
        """Ask something of a stage, as soon as there is room for it."""
        until = time.monotonic() + ROOM_S
        while True:
            try:
                self._put(action)
            except AudioError as error:
                if time.monotonic() < until:
                    await asyncio.sleep(LOOK_S)
                    continue
                await self.act(self._core.trouble(str(error)))
            return

    def _put(self, action: Order | Settle | Ask) -> None:
        match action:
            case Order(command):
                self._lane.command(command)
            case Settle(settings):
                self._lane.settle(settings)
            case Ask(wish):
                self._lane.wish(wish)
