"""The binary protocol: one connection, from its first message to its end."""

import asyncio
from collections import deque
from typing import NoReturn

from pipeline.client_lane import ClientLane
from pipeline.endpoint.peer import Peer
from pipeline.endpoint.session import Session
from pipeline.endpoint.voice.messages import (
    VERSION,
    BadMessageError,
    Order,
    PlayedReport,
    Start,
    VoiceWording,
    event_json,
    pack,
    parse,
)
from pipeline.endpoint.voice.sound import Voice, ear
from pipeline.errors import AudioError, SessionError
from pipeline.events import Event, Sound, SoundCut, SoundEnded

WORDING = VoiceWording()
NO_START = 4001
NOT_A_START = 1003


async def serve(peer: Peer, session: Session) -> None:
    """Serve one connection; see `Handler`."""
    start = await _first_message(peer, session)
    if start is None:
        return
    conversation = Conversation(peer, await session.open(start.instructions), start)
    conversation.greet(session)
    teller = asyncio.create_task(conversation.tell_all(session))
    listener = asyncio.create_task(conversation.listen())
    try:
        done, _ = await asyncio.wait({teller, listener}, return_when=asyncio.FIRST_COMPLETED)
        done.pop().result()
    finally:
        for task in (teller, listener):
            task.cancel()
        await asyncio.gather(teller, listener, return_exceptions=True)


async def _first_message(peer: Peer, session: Session) -> Start | None:
    """The start; None if something else came, and the peer is being closed."""
    try:
        async with asyncio.timeout(session.config.serve.open_timeout_s):
            message = await peer.read()
    except TimeoutError:
        await peer.close(NO_START, "no start message in time")
        return None
    if isinstance(message, bytes):
        await peer.close(NOT_A_START, "sound before start")
        return None
    try:
        start = parse(message)
    except BadMessageError as error:
        peer.tell(WORDING.error("bad_message", str(error)))
        await peer.close(NOT_A_START, f"not a valid start: {error}")
        return None
    if not isinstance(start, Start):
        await peer.close(NOT_A_START, f"{start.type} before start")
        return None
    return start


class Conversation:
    """Both directions of one connection.

    Args:
        start: its first message.
    """

    def __init__(self, peer: Peer, lane: ClientLane, start: Start) -> None:
        self._peer = peer
        self._lane = lane
        self._start = start
        self._ear = ear(start.rate)
        self._voice = Voice(start.rate)
        self._answer: int | None = None  # whose sound is being sent
        self._voiced: deque[Sound] = deque()  # whose words are still to be told
        self._position = 0  # ids that are voiced by the last of them

    def greet(self, session: Session) -> None:
        """Say that everything is ready."""
        limits = session.config.serve
        ready = pack(
            "ready",
            version=VERSION,
            session=session.name,
            rate=self._start.rate,
            encoding=self._start.encoding,
            lead_ms=limits.lead_ms,
            max_message_bytes=limits.max_message_kib * 1024,
            session_s=limits.session_s,
        )
        self._peer.tell(ready)

    async def listen(self) -> None:
        """Take what the client sends, until it sends no more."""
        async for message in self._peer:
            if isinstance(message, bytes):
                await self._lane.feed(self._ear.feed(message))
            else:
                self._obey(message)

    async def tell_all(self, session: Session) -> NoReturn:
        """Tell the client what happens."""
        async for event in session.events():
            self._tell(event)
            self._tell_words()
        raise SessionError("this conversation was closed")

    def _obey(self, text: str) -> None:
        try:
            message = parse(text)
        except BadMessageError as error:
            self._peer.tell(WORDING.error("bad_message", str(error)))
            return
        match message:
            case Start():
                self._peer.tell(WORDING.error("bad_order", "this conversation has started"))
            case Order():
                try:
                    self._lane.command(message.command)
                except AudioError as error:
                    self._peer.tell(WORDING.error("too_many", str(error)))
            case PlayedReport(answer=answer, samples=samples, final=final):
                self._lane.report(answer, self._voice.source_samples(samples), final=final)

    def _tell(self, event: Event) -> None:
        match event:
            case Sound():
                self._send(event)
                return
            case SoundCut(answer):
                self._peer.cut(answer)
                self._answer = None
            case SoundEnded(answer):
                self._send_bytes(self._voice.finish(), answer)
                self._answer = None
                event = SoundEnded(answer, self._voice.sent)
        if text := event_json(event):
            self._peer.tell(text)

    def _send(self, sound: Sound) -> None:
        if sound.answer != self._answer:
            self._answer, self._position = sound.answer, 0
            self._voiced.clear()
            self._voice.begin()
            self._peer.tell(pack("sound_started", turn=sound.turn, answer=sound.answer))
        self._send_bytes(self._voice.feed(sound.samples, sound.rate), sound.answer)
        if sound.position != self._position:
            self._position = sound.position
            self._voiced.append(sound)

    def _tell_words(self) -> None:
        """Say which words the sound so far has voiced, as far as they are known."""
        while self._voiced:
            sound = self._voiced[0]
            text = self._lane.voiced(sound.answer, sound.position)
            if text is None:
                return
            self._voiced.popleft()
            samples = (sound.first + len(sound.samples)) * self._start.rate // sound.rate
            self._peer.tell(pack("words", answer=sound.answer, text=text, samples=samples))

    def _send_bytes(self, pcm: bytes, answer: int) -> None:
        if pcm:
            self._peer.sound(pcm, answer, len(pcm) / 2 / self._start.rate * 1000)
