"""The turn that is going on, shown while it lasts."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from pipeline.events import Event, ReplyText, UserText
from pipeline.replay import Question
from pipeline.report import labelled

REFRESH_HZ = 8.0


class LiveTurn:
    """A few lines on a terminal that vanish when the turn is over; nothing elsewhere.

    Args:
        console: where to show it.
        repeat: how often each clip is played.
        now: the clock, s.
    """

    def __init__(
        self, console: Console, repeat: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._repeat = repeat
        self._now = now
        self._spinner = Spinner("dots")
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def begin(self, question: Question, number: int) -> None:
        """A clip begins to play, for the `number`-th time."""
        self.end()
        self._question = question
        self._number = number
        self._began = self._now()
        self._heard = self._reply = ""
        if self._console.is_terminal:
            self._live = Live(
                get_renderable=self.render,
                console=self._console,
                refresh_per_second=REFRESH_HZ,
                transient=True,
            )
            self._live.start()

    def take(self, event: Event) -> None:
        """Show what the user said, and what is answered, so far."""
        match event:
            case UserText(text=text):
                self._heard = text
            case ReplyText(_, _, text):
                self._reply = text

    def end(self) -> None:
        """Take it away; safe to call twice."""
        if self._live:
            self._live.stop()
            self._live = None

    def render(self) -> RenderableType:
        """How it looks now."""
        self._spinner.update(text=self._state())
        lines: list[RenderableType] = [self._spinner]
        if self._heard:
            lines.append(labelled("heard", self._heard))
        if self._reply:
            lines.append(labelled("answer", self._reply))
        return Group(*lines)

    def _state(self) -> Text:
        question, elapsed = self._question, self._now() - self._began
        text = Text.assemble((question.path.name, "bold"), no_wrap=True, overflow="ellipsis")
        if self._repeat > 1:
            text.append(f" ({self._number} of {self._repeat})")
        if elapsed < question.duration_s:
            text.append(f" · playing {elapsed:.1f}/{question.duration_s:.1f} s")
        else:
            text.append(" · answering" if self._reply else " · waiting for an answer")
        return text
