"""One conversation, as the program that opened it sees it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pipeline.captions import Captions
from pipeline.errors import AudioError, SessionError
from pipeline.events import Event, TurnEnded
from pipeline.timeline import Timeline
from pipeline.tokenizer import Vocabulary
from ringbuf import Lane
from stages.messages import Caption, CaptionKind, Command, PlayOrder
from stages.outcome import Outcome
from stages.topology import ASR, AUDIO, LLM, TTS, TURN

Feeder = Callable[["ClientLane", NDArray[np.int16]], Awaitable[None]]


class ClientLane:
    """A conversation. Iterate over it for what happens; close it when done.

    Args:
        lane: open in every stage.
        vocabulary: of the language model.
        finish: the timeline of a turn that has ended.
        close: gives the lane back.
    """

    def __init__(
        self,
        lane: Lane,
        vocabulary: Vocabulary,
        finish: Callable[[int, int, int, Outcome], Timeline],
        close: Callable[["ClientLane"], Awaitable[None]],
    ) -> None:
        self.number = lane.number
        self.lane = lane
        self._captions = Captions(vocabulary)
        self._finish = finish
        self._close = close
        self._first_turn = lane.get("turn")
        self._ended = 0
        self._events: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self._is_open = True
        self.feeder: Feeder | None = None

    @property
    def turns_begun(self) -> int:
        """Utterances of the user so far."""
        return self.lane.get("turn") - self._first_turn & 0xFFFF_FFFF

    @property
    def turns_ended(self) -> int:
        """Turns whose end was told."""
        return self._ended

    def play(
        self, clip: Path, *, speech_end_s: float | None = None, out: Path | None = None
    ) -> None:
        """Play a sound file into the microphone, at real-time pace (edge "file").

        Args:
            clip: WAV, FLAC or MP3.
            speech_end_s: where speech ends in it, for the latency.
            out: the WAV file to write the answer to.

        Raises:
            AudioError: too many clips are waiting already.
        """
        order = PlayOrder(str(clip.absolute()), speech_end_s, str(out.absolute()) if out else "")
        if not self.lane.command("orders").put(order.pack()):
            raise AudioError("too many clips are waiting to be played", "Wait for ClipEnded")

    async def feed(self, samples: NDArray[np.int16]) -> None:
        """Say something into the microphone (edge "client").

        Args:
            samples: int16 [n], 16 kHz mono; any length, at the pace they were recorded. Faster is
                allowed: the call then waits until it is at most a second ahead.

        Raises:
            AudioError: this pipeline's edge is not "client", or the samples are not int16 [n].
        """
        feeder = self._require_client("be fed")
        if samples.dtype != np.int16 or samples.ndim != 1:
            raise AudioError(
                f"expected int16 samples of one channel, not {samples.dtype} {samples.shape}"
            )
        await feeder(self, samples)

    def command(self, command: Command) -> None:
        """Commit or cancel the turn, mute or unmute the microphone (edge "client").

        Raises:
            AudioError: this pipeline's edge is not "client".
        """
        self._require_client("command")
        self.lane.command("commands").put(command.pack())

    def instruct(self, instructions: str) -> None:
        """Replace the system prompt; before the first turn (edge "client").

        Raises:
            AudioError: this pipeline's edge is not "client".
        """
        self._require_client("instruct")
        self.lane.command("settings").put(json.dumps({"instructions": instructions}).encode())

    async def close(self) -> None:
        """End the conversation; safe to call twice."""
        if self._is_open:
            self._is_open = False
            await self._close(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """What happens, in order, until the conversation is closed.

        Raises:
            StageError: a stage has died; the pipeline is over.
        """
        while self._is_open:
            yield await self.next_event()

    async def next_event(self) -> Event:
        """Wait for the next thing that happens.

        Raises:
            SessionError: the conversation is closed.
            StageError: a stage has died.
        """
        if not self._is_open:
            raise SessionError("this conversation is closed")
        event = await self._events.get()
        if isinstance(event, Exception):
            self._events.put_nowait(event)  # for whoever else asks
            raise event
        return event

    def rung(self) -> None:
        """Take what the stages told."""
        outcomes = self._read(TURN)  # first: what led to an outcome is then there to be read
        others = [c for stage in (AUDIO, ASR, LLM, TTS) for c in self._read(stage)]
        for event in self._captions.take([*others, *outcomes]):
            self.tell(event)
        for caption in outcomes:
            if caption.kind is CaptionKind.OUTCOME:
                self._turn_ended(caption)

    def tell(self, event: Event | Exception) -> None:
        """Queue something for the program."""
        self._events.put_nowait(event)

    def _require_client(self, act: str) -> Feeder:
        """What feeds this lane: only one program may write to the rings of the edge."""
        if self.feeder is None:
            raise AudioError(f'only the edge "client" can {act}', "Set audio.stage = 'client'")
        return self.feeder

    def _read(self, stage: str) -> list[Caption]:
        messages = self.lane.command(f"captions_{stage}").read()
        return [Caption.unpack(message) for message in messages]

    def _turn_ended(self, caption: Caption) -> None:
        turn, answer = caption.turn, caption.answer
        timeline = self._finish(self.number, turn, answer, Outcome(caption.position))
        ended = TurnEnded(timeline, self._captions.transcript(turn), self._captions.reply(answer))
        self._captions.forget(turn, answer)
        self._ended += 1
        self.tell(ended)
