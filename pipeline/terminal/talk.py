"""A conversation with whoever sits at the terminal."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence

from pipeline.client_lane import ClientLane
from pipeline.errors import AudioError, SessionError
from pipeline.events import ClipEnded, Event, TurnEnded
from pipeline.replay import Question, until_over
from pipeline.terminal.controls import Controls
from pipeline.terminal.conversation import Conversation
from pipeline.terminal.display import Display
from pipeline.terminal.entry import Note
from pipeline.terminal.keys import Key
from pipeline.terminal.screen import Moment
from stages.outcome import BROKEN

STEP_S = 0.08  # between two looks at what goes on


class Talk:
    """Shows one conversation and follows the keys.

    Args:
        display: where it is shown.
        has_keys: somebody can press some.

    Attributes:
        failed: a turn failed, or a clip could not be played.
    """

    def __init__(self, display: Display, *, has_keys: bool) -> None:
        self.failed = False
        self._display = display
        self._has_keys = has_keys
        self._conversation = Conversation()
        self._controls = Controls()
        self._lane: ClientLane | None = None

    async def hold(self, lane: ClientLane, clips: Sequence[Question] = ()) -> None:
        """Follow a conversation until it is closed, or until the last clip was answered.

        Args:
            clips: to be played into the microphone, one after the other (edge "file").

        Raises:
            StageError: a stage has died.
            VoxringError: nothing can be shown any more.
        """
        self._lane = lane
        step = STEP_S if self._has_keys or self._display.is_live else None
        told = _played(lane, clips) if clips else aiter(lane)
        events = asyncio.create_task(self._follow(lane, told))
        try:
            while not events.done():
                self._look(lane)
                await asyncio.wait({events}, timeout=step)
            events.result()
        finally:
            events.cancel()
            self._conversation.heard(lane.heard)
            self._lane = None
            self._display.stop()
            for entry in self._conversation.finish():
                self._display.show(entry)

    def press(self, key: Key) -> None:
        """Do what a key asks, but for QUIT, which is the caller's; nothing before `hold`."""
        if self._lane:
            self._command(self._lane, key)
            self._look(self._lane)

    async def _follow(self, lane: ClientLane, events: AsyncIterator[Event]) -> None:
        async for event in events:
            for entry in self._conversation.take(event):
                self._display.show(entry, self._moment(lane))
            match event:
                case TurnEnded():
                    self.failed |= event.timeline.outcome in BROKEN
                case ClipEnded(error):
                    self.failed |= bool(error)

    def _command(self, lane: ClientLane, key: Key | None) -> None:
        now = time.monotonic()
        try:
            for command in self._controls.press(key, now) if key else self._controls.tick(now):
                lane.command(command)
        except (AudioError, SessionError) as error:
            self._display.show(Note(str(error), is_trouble=True))

    def _look(self, lane: ClientLane) -> None:
        """Show what goes on."""
        self._command(lane, None)
        self._conversation.heard(lane.heard)
        self._display.draw(self._moment(lane))

    def _moment(self, lane: ClientLane) -> Moment:
        controls = self._controls
        return Moment(
            lane.floor,
            lane.level_dbfs,
            tuple(self._conversation.live),
            is_muted=controls.is_muted,
            is_pushed=controls.talk.is_open,
            is_held=controls.talk.is_held,
            has_keys=self._has_keys,
        )


async def _played(lane: ClientLane, clips: Sequence[Question]) -> AsyncIterator[Event]:
    """What happens while each clip is played, when everything before it has ended."""
    while lane.turns_ended < lane.turns_begun:  # the greeting
        yield await lane.next_event()
    for clip in clips:
        lane.play(clip.path, speech_end_s=clip.speech_end_s)
        async for event in until_over(lane, clip):
            yield event
