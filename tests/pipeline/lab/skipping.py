"""An event loop whose clock skips what nobody does anything in, and a conversation on it."""

import asyncio
import selectors
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from pipeline.errors import StageError
from pipeline.lab.mix import Said
from pipeline.lab.target import Talk, Told

T = TypeVar("T")


class _Skipping(selectors.SelectSelector):
    """Waits for nothing: the time that it was to wait has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.now += timeout or 0.0
        return super().select(0)


class SkippingLoop(asyncio.SelectorEventLoop):
    """Its seconds pass at once."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run something to its end on such a loop."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(work)


def now() -> float:
    """Seconds of the running loop."""
    return asyncio.get_running_loop().time()


@dataclass
class Script:
    """What becomes of each clip.

    Attributes:
        answer_s: from the end of a clip to the sound of its answer; None: nobody notices it.
        sounds_s: how long an answer sounds, unless a clip comes over it.
    """

    answer_s: float | None = 0.4
    sounds_s: float = 3.0


@dataclass
class FakeTalk:
    """A conversation in which every clip is answered as the script says.

    Attributes:
        said: name of each clip, and the second at which it began.
    """

    script: Script
    said: list[tuple[str, float]] = field(default_factory=list)
    closed: bool = False
    _clip_ends: float = 0.0
    _starts: float = -1.0
    _stops: float = -1.0
    _begun: int = 0
    _ended: int = 0

    @property
    def is_saying(self) -> bool:
        return now() < self._clip_ends

    @property
    def is_answering(self) -> bool:
        return self._starts <= now() < self._stops

    @property
    def turns_begun(self) -> int:
        return self._begun

    @property
    def turns_ended(self) -> int:
        self._follow()
        return self._ended

    def say(self, said: Said) -> None:
        self._follow()
        self.said.append((said.say.label, round(now(), 2)))
        self._clip_ends = now() + said.duration_s
        if self._ended < self._begun and not said.say.goes_on:
            self._ended = self._begun  # interrupted
        if self.script.answer_s is not None and not said.say.goes_on:
            self._begun += 1
            self._starts = self._clip_ends + self.script.answer_s
            self._stops = self._starts + self.script.sounds_s

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> Told:
        self.closed = True
        return Told(0, (), (), (), (), np.zeros((0, 2), np.int16))

    def _follow(self) -> None:
        if self._ended < self._begun and now() >= self._stops:
            self._ended = self._begun


@dataclass
class FakeTarget:
    """Opens fake conversations.

    Attributes:
        log: what was asked of it.
        fails_at: which conversation cannot be opened.
    """

    script: Script
    log: list[str] = field(default_factory=list)
    talks: list[FakeTalk] = field(default_factory=list)
    fails_at: int = -1

    @property
    def pids(self) -> dict[str, int]:
        return {}

    async def start(self) -> None:
        self.log.append("start")

    async def stop(self) -> None:
        self.log.append("stop")

    async def open(self) -> Talk:
        if len(self.talks) == self.fails_at:
            raise StageError("stage tts has died")
        self.talks.append(FakeTalk(self.script))
        self.log.append("open")
        return self.talks[-1]
