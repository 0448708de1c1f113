"""One conversation, as the program that opened it sees it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pipeline.captions import Captions
from pipeline.client_edge import LaneEdge
from pipeline.errors import AudioError, OutputError, SessionError, VoxringError
from pipeline.events import ClipEnded, Event, Fault, Sound, SoundEvent, TurnEnded
from pipeline.floor import Floor, who_has_it
from pipeline.timeline import Timeline
from pipeline.tokenizer import Vocabulary
from pipeline.transcript_file import TranscriptFile
from ringbuf import Lane, MessageTooLong
from stages.llm.wishes import Style, Wish, pack
from stages.messages import (
    Caption,
    CaptionKind,
    Command,
    DeviceState,
    Levels,
    Played,
    PlayOrder,
)
from stages.outcome import Outcome
from stages.topology import ASR, AUDIO, LLM, TTS, TURN
from stages.turn.settings import TurnSettings

CLIPS_WAIT = "too many clips are waiting to be played"


class ClientLane:
    """A conversation. Iterate over it for what happens; close it when done.

    Args:
        lane: open in every stage.
        vocabulary: of the language model.
        finish: the timeline of a turn that has ended.
        release: gives the lane back without waiting.
        close: gives the lane back and waits until it is free.

    Attributes:
        edge: where this program is the edge; None where another is.
        transcript: where what was said is kept; None where it is not.
        has_device: the edge is a sound device of this machine.
        before: numbers of the last turn and of the last answer that are not of this conversation.
    """

    def __init__(
        self,
        lane: Lane,
        vocabulary: Vocabulary,
        finish: Callable[[int, int, int, Outcome], Timeline],
        release: Callable[["ClientLane"], None],
        close: Callable[["ClientLane"], Awaitable[None]],
    ) -> None:
        self.number = lane.number
        self.lane = lane
        self.edge: LaneEdge | None = None
        self.transcript: TranscriptFile | None = None
        self.has_device = False
        self._captions = Captions(vocabulary)
        self._finish = finish
        self._release = release
        self._close = close
        self._first_turn = lane.get("ended")  # a greeting may have begun already
        self.before = (self._first_turn, lane.get("released"))
        self._ended = 0
        self._clips = 0  # ordered and not ended
        self._orders: list[bytes] | None = None  # for an edge that has died and is not back yet
        self._events: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self._is_open = True
        self._sounding: int | None = None  # the answer whose sound was told last
        self._style = Style()  # what was asked for: a stage that is started again is told anew
        self._turn_settings = TurnSettings()
        self._is_muted = self._is_locked = self._is_held = False  # as it was commanded

    @property
    def turns_begun(self) -> int:
        """Utterances of the user so far."""
        return self.lane.get("turn") - self._first_turn & 0xFFFF_FFFF

    @property
    def turns_ended(self) -> int:
        """Turns whose end was told."""
        return self._ended

    @property
    def clips_waiting(self) -> int:
        """Clips that were ordered and have not ended."""
        return self._clips

    @property
    def levels(self) -> Levels:
        """How loud both sides are, newest part of a second (not of the edge "client")."""
        return Levels.unpack(self.lane.get("levels"))

    @property
    def level_dbfs(self) -> float:
        """The microphone's part of `levels`: 0 is full scale, -100 is silence."""
        return self.levels.microphone

    @property
    def device(self) -> DeviceState:
        """How the sound devices do (edge "device")."""
        return DeviceState.unpack(self.lane.get("device"))

    @property
    def floor(self) -> Floor:
        """Who speaks at this instant."""
        lane = self.lane
        return who_has_it(
            running=lane.get("turn") != lane.get("ended"),
            answer=lane.get("answer"),
            released=lane.get("released"),
            hold=bool(lane.get("hold")),
            played=Played.unpack(lane.get("played")),
        )

    @property
    def heard(self) -> str:
        """What was heard so far of the answer that sounds; "" once its turn has ended."""
        lane, played = self.lane, Played.unpack(self.lane.get("played"))
        running = lane.get("turn") != lane.get("ended")
        if not running or not lane.get("answer") == lane.get("released") == played.answer:
            return ""
        return self._captions.reply(played.answer, played.position)

    def voiced(self, answer: int, position: int) -> str | None:
        """What the first `position` ids of an answer spell.

        None while they are not known, which may be later than their sound; of older answers only
        the newest are kept.
        """
        return self._captions.voiced(answer, position)

    def play(
        self, clip: Path, *, speech_end_s: float | None = None, out: Path | None = None
    ) -> None:
        """Play a sound file into the microphone, at real-time pace (edge "file").

        Args:
            clip: WAV, FLAC or MP3.
            speech_end_s: where speech ends in it, for the latency.
            out: the WAV file to write the answer to.

        Raises:
            AudioError: too many clips are waiting already, or this program is the edge.
            SessionError: the conversation is closed.
        """
        if self.edge or self.has_device:
            raise AudioError('only the edge "file" plays clips', "Set audio.stage = 'file'")
        order = PlayOrder(str(clip.absolute()), speech_end_s, str(out.absolute()) if out else "")
        self._order(order.pack(), CLIPS_WAIT)
        self._clips += 1

    async def feed(self, samples: NDArray[np.int16]) -> None:
        """Say something into the microphone (edge "client").

        Args:
            samples: int16 [n], 16 kHz mono; any length, at the pace they were recorded. Faster is
                allowed: the call waits while more than about five seconds are ahead.

        Raises:
            AudioError: this pipeline's edge is not "client", or the samples are not int16 [n].
            SessionError: the conversation is closed.
            StageError: a stage has died.
        """
        edge = self._require_client("be fed")
        if not isinstance(samples, np.ndarray) or samples.dtype != np.int16 or samples.ndim != 1:
            kind = getattr(samples, "dtype", type(samples).__name__)
            raise AudioError(f"expected int16 samples of one channel in NumPy, not {kind}")
        await edge.feed(samples)

    def command(self, command: Command) -> None:
        """Commit or cancel the turn, mute or unmute the microphone.

        It applies behind what was fed before, or what the edge has heard by now.

        Raises:
            AudioError: commands pile up.
            SessionError: the conversation is closed.
        """
        self._require_open()
        if self.edge:
            self.edge.command(command)
        else:  # the rings of the edge have one writer: the edge, which passes it on
            self._order(command.pack(), "too many commands are waiting")
        match command:
            case Command.MUTE | Command.UNMUTE:
                self._is_muted, self._is_held = command is Command.MUTE, False
            case Command.LOCK | Command.UNLOCK:
                self._is_locked = command is Command.LOCK
            case Command.OPEN | Command.COMMIT:
                self._is_held = command is Command.OPEN

    def report(self, answer: int, samples: int, *, final: bool = False) -> None:
        """Tell how much of an answer has left the loudspeaker, for a lane opened with a lead.

        What a conversation keeps of an interrupted answer is what was heard. Without reports that
        is judged by the clock; reports of other answers than the last that sounded change nothing.

        Args:
            samples: of the answer, at the rate of its `Sound`.
            final: no more of it will be played.

        Raises:
            AudioError: this pipeline's edge is not "client".
            SessionError: the conversation is closed.
        """
        self._require_client("report").report(answer, samples, final=final)

    def instruct(self, instructions: str) -> None:
        """Replace the system prompt, behind an answer that is being written.

        Raises:
            AudioError: the text is too long.
            SessionError: the conversation is closed.
        """
        self.wish(Style(instructions=instructions))

    def wish(self, wish: Wish) -> None:
        """Ask something of the language model: how it answers, or a change to what was said.

        Each is carried out as soon as no answer is being written that it would change, and before
        an answer that is asked for afterwards.

        Raises:
            AudioError: the text is too long, or wishes pile up.
            SessionError: the conversation is closed.
        """
        self._put("settings", pack(wish), "earlier settings are still waiting")
        if isinstance(wish, Style) and not wish.once:
            self._style = self._style.model_copy(update=wish.model_dump(exclude_none=True))

    def settle(self, settings: TurnSettings) -> None:
        """Take turns in another way, from the sound on that is fed from now on (edge "client").

        Raises:
            AudioError: this pipeline's edge is not "client", or commands pile up.
            SessionError: the conversation is closed.
        """
        self._require_client("settle").command(Command.SETTLE, settings.pack())
        changes = settings.model_dump(exclude_none=True)
        self._turn_settings = self._turn_settings.model_copy(update=changes)

    def whole_words(self, answer: int, count: int) -> tuple[int, str]:
        """The whole words among the first ids of one of the last answers.

        Returns:
            How many ids these are, and what they spell.
        """
        return self._captions.whole_words(answer, count)

    async def close(self) -> None:
        """End the conversation; safe to call twice. Whoever iterates over it comes to an end.

        Raises:
            SessionError: a stage did not let go in time.
            StageError: a stage has died.
        """
        if self._end():
            await self._close(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.close()
        elif self._end():  # the error that is on its way is the one to tell, and at once
            self._release(self)

    async def __aiter__(self) -> AsyncIterator[Event]:
        """What happens, in order, until the conversation is closed.

        Raises:
            StageError: a stage has died; the pipeline is over.
        """
        while True:
            try:
                event = await self.next_event()
            except Ended:
                return
            yield event

    async def next_event(self) -> Event:
        """Wait for the next thing that happens.

        Raises:
            SessionError: the conversation is closed.
            StageError: a stage has died.
        """
        event = await self._events.get()
        if isinstance(event, Exception):
            self._events.put_nowait(event)  # for whoever else asks
            raise event
        return event

    def rung(self) -> None:
        """Take what the stages told."""
        turns = self._read(TURN)  # first: what led to an outcome is then there to be read
        others = [c for stage in (AUDIO, ASR, LLM, TTS) for c in self._read(stage)]
        for caption in turns:
            if caption.kind is CaptionKind.OUTCOME:
                self._take(others)
                others = []
                self._turn_ended(caption)
            else:
                self._take([caption])
        self._take(others)

    def _take(self, captions: list[Caption]) -> None:
        for event in self._captions.take(captions, self.lane.get("released")):
            if isinstance(event, ClipEnded):
                self._tell_clip(event)
            else:
                self.tell(event)

    def lost(self, stage: str, cause: str) -> None:
        """A stage has died: `turn` ends what was running, and the program is told."""
        self._end_turn()
        message = f"stage {stage} {cause}; it is started again"
        self.tell(Fault(self.lane.get("turn"), message))
        if stage == AUDIO:
            self._orders = []
            while self._clips:
                self._tell_clip(ClipEnded(message))

    def back(self, stage: str) -> None:
        """A stage is back: what was said while it was away is lost to it."""
        self._end_turn()
        if stage == AUDIO and self._orders is not None:
            orders, self._orders = self._orders, None
            for order in orders:
                self._order(order, CLIPS_WAIT)

    def _end_turn(self) -> None:
        self.lane.set("faults", self.lane.get("faults") + 1)

    def sounds(self, event: SoundEvent) -> None:
        """Queue what becomes of sound, behind what the stages told before it."""
        is_on = isinstance(event, Sound) and event.answer == self._sounding
        if not is_on:  # else everything that led to it was read with its first block
            self.rung()
        self._sounding = event.answer
        self.tell(event)

    def tell(self, event: Event | VoxringError) -> None:
        """Keep something in the transcript, then queue it for the program."""
        if self.transcript and not isinstance(event, VoxringError):
            try:
                self.transcript.take(event)
            except OutputError as error:
                self._events.put_nowait(Fault(self.lane.get("turn"), str(error)))
        self._events.put_nowait(event)

    def _end(self) -> bool:
        """Take no more part in it; whether it was open until now."""
        was_open, self._is_open = self._is_open, False
        if was_open:
            self.tell(Ended("this conversation is closed"))
        return was_open

    def _require_open(self) -> None:
        if not self._is_open:
            raise SessionError("this conversation is closed", "Open another one")

    def _require_client(self, act: str) -> LaneEdge:
        """What feeds this lane: only one program may write to the rings of the edge."""
        self._require_open()
        if self.edge is None:
            raise AudioError(f'only the edge "client" can {act}', "Set audio.stage = 'client'")
        return self.edge

    def _order(self, order: bytes, trouble: str) -> None:
        """Ask something of the edge; one that is away gets it when it is back."""
        if self._orders is None:
            self._put("orders", order, trouble)
            return
        self._require_open()
        if sum(map(len, (*self._orders, order))) > self.lane.command("orders").longest // 2:
            raise AudioError(trouble, "Wait for what was asked before")
        self._orders.append(order)

    def _put(self, ring: str, message: bytes, trouble: str) -> None:
        self._require_open()
        try:
            if not self.lane.command(ring).put(message):
                raise AudioError(trouble, "Wait for what was asked before")
        except MessageTooLong as error:
            raise AudioError(str(error), "Shorten it") from error

    def _tell_clip(self, event: ClipEnded) -> None:
        """A clip ends once: by itself, or with the edge that played it."""
        if self._clips:
            self._clips -= 1
            self.tell(event)

    def _read(self, stage: str) -> list[Caption]:
        messages = self.lane.command(f"captions_{stage}").read()
        captions = [Caption.unpack(message) for message in messages]
        if any(caption.kind is CaptionKind.REOPENED for caption in captions):
            self._ask_again(stage)
        return captions

    def _ask_again(self, stage: str) -> None:
        """A stage has begun anew: tell it what was asked of the one before."""
        try:
            if stage == LLM and self._style != Style():
                self.wish(self._style)
            if stage == TURN and self._turn_settings != TurnSettings():
                self.settle(self._turn_settings)
            if stage in (AUDIO, TURN) and self._is_muted:
                self.command(Command.MUTE)
            if stage == TURN and self._is_locked:
                self.command(Command.LOCK)
            if stage == TURN and self._is_held:
                self.command(Command.OPEN)
        except VoxringError as error:
            self.tell(Fault(self.lane.get("turn"), f"{stage} has lost its settings: {error}"))

    def _turn_ended(self, caption: Caption) -> None:
        turn, answer = caption.turn, caption.answer
        timeline = self._finish(self.number, turn, answer, Outcome(caption.position))
        count = int.from_bytes(caption.payload, "little")
        texts = self._captions
        ended = TurnEnded(
            timeline, texts.transcript(turn), texts.reply(answer), texts.reply(answer, count)
        )
        self._captions.forget(turn, answer)
        self._ended += 1
        self.tell(ended)


class Ended(SessionError):
    """The conversation is closed: the end of its events."""
