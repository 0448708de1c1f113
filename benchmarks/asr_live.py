"""Clips through the real `turn` and `asr`, rings and all, in one thread and without programs."""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import ParamSpec, Self, TypeVar

import numpy as np

from benchmarks.asr_clips import Spoken
from benchmarks.asr_figures import Heard, Hearing, Slot
from pipeline.config import Config
from pipeline.models.progress import silent
from ringbuf import Arena, AudioRing, BellPipe, Kind, TokenRing
from stages.asr.faster_whisper import FasterWhisperAsr
from stages.asr.listener import Model
from stages.audio.room_tone import RoomTone
from stages.event import Event
from stages.runner import Runner
from stages.stage import Host
from stages.topology import ASR, AUDIO, CONTROL, INPUT_BLOCK, INPUT_RATE, LLM, TURN, topology
from stages.turn.silero import SileroTurn

P = ParamSpec("P")
T = TypeVar("T")

_BLOCK_NS = INPUT_BLOCK * 1_000_000_000 // INPUT_RATE
_PATIENCE_S = 3.0  # of room tone after a clip, at most
_MARKS = (Event.SPEECH_START, Event.SILENCE, Event.SOFT_END, Event.RESUME, Event.RELEASE)


def _nobody(seconds: float) -> None:
    """Nobody watches."""


class Clock:
    """Monotonic time; where nothing is to be done, it is slept through or skipped.

    Skipped, it advances by the time of the sound or of the work, whichever is later; the model's
    work counts as processor time. What is measured is what an idle machine would give.

    Args:
        live: sleep.
    """

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self.skipped = 0

    def now(self) -> int:
        """Nanoseconds."""
        return time.monotonic_ns() + self.skipped

    def wait(self, until: int) -> None:
        """Let time pass."""
        gap = until - self.now()
        if gap <= 0:
            return
        if self.live:
            time.sleep(gap / 1e9)
        else:
            self.skipped += gap


class _Undisturbed:
    """A Whisper on a clock that skips: waiting for a core that others use does not count."""

    def __init__(self, whisper: Model, clock: Clock) -> None:
        self._clock = clock
        self.filters = whisper.filters
        self.spell = whisper.spell
        self.encode = self._timed(whisper.encode)
        self.generate = self._timed(whisper.generate)
        self.id_ends = self._timed(whisper.id_ends)

    def _timed(self, work: Callable[P, T]) -> Callable[P, T]:
        def timed(*args: P.args, **kwargs: P.kwargs) -> T:
            since, used = time.monotonic_ns(), time.process_time_ns()
            result = work(*args, **kwargs)
            waited = time.monotonic_ns() - since - (time.process_time_ns() - used)
            self._clock.skipped -= max(0, waited)
            return result

        return timed


@dataclass
class _Feed:
    """The microphone of one lane."""

    lane: int
    mic: AudioRing
    reader: TokenRing
    clip: Spoken
    start: int
    room: RoomTone
    hearing: Hearing = field(default_factory=Hearing)
    blocks: int = 0
    released: bool = False
    over: bool = False

    @property
    def due(self) -> int:
        """When the last sample of the next block is there."""
        return self.start + (self.blocks + 1) * _BLOCK_NS

    def put(self) -> None:
        first = self.blocks * INPUT_BLOCK
        samples = self.clip.samples[first : first + INPUT_BLOCK]
        if len(samples) < INPUT_BLOCK:
            samples = np.concatenate((samples, self.room.take(INPUT_BLOCK - len(samples))))
        if not self.mic.put(samples, first=first, rate=INPUT_RATE):
            raise RuntimeError(f"mic is full: {self.clip.name} is not heard in time")
        self.blocks += 1

    @property
    def is_over(self) -> bool:
        """The clip is, and the turn is released; a turn that never ends is not waited for."""
        silence_s = self.blocks * INPUT_BLOCK / INPUT_RATE - self.clip.seconds
        return silence_s > _PATIENCE_S or (silence_s >= 0 and self.released)

    def since_start(self, at: int) -> float:
        return (at - self.start) / 1e9


class Live:
    """`turn` and `asr` with their models, and the neighbours that they need.

    Args:
        config: of both.
        clock: theirs.
        lanes: speakers at once, at most.
    """

    def __init__(self, config: Config, clock: Clock, lanes: int = 1) -> None:
        self.clock = clock
        self.asr = FasterWhisperAsr(Host(config, config.asr, clock.now, silent))
        self.asr.load()
        if not clock.live:
            self.asr.whisper = _Undisturbed(self.asr.whisper, clock)
        self._exit = ExitStack()
        self._bells = {name: BellPipe.create() for name in topology(lanes, 256).processes}
        for bell in self._bells.values():
            self._exit.callback(bell.close)
        layout = topology(lanes, config.llm.context)
        self._owner = Arena.create(layout, CONTROL, self._bells)
        self._exit.callback(self._owner.close)
        turn = SileroTurn(Host(config, config.turn, clock.now, silent))
        turn.load()
        self._turn = Runner(turn, self._attach(TURN), clock.now)
        self._asr = Runner(self.asr, self._attach(ASR), clock.now)
        edge, reader = self._attach(AUDIO), self._attach(LLM)
        self._mics = [edge.lane(n).audio("mic") for n in range(lanes)]
        self._readers = [reader.lane(n).token("heard") for n in range(lanes)]
        self._feeds: list[_Feed] = []
        self.asr_ns = 0  # spent in `asr`

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def hear(
        self, *clips: Spoken, apart_s: float = 0.3, watch: Callable[[float], None] = _nobody
    ) -> list[Hearing]:
        """Play clips at real-time pace, one on each lane, each begun a little after the other.

        Args:
            watch: told after each block how many seconds of the first clip were played.
        """
        for number in range(len(clips)):
            self._reopen(number)
        start = self.clock.now() + _BLOCK_NS
        self._feeds = [
            _Feed(
                n,
                self._mics[n],
                self._readers[n],
                clip,
                start + int(n * apart_s * 1e9),
                RoomTone(clip.noise_dbfs),
            )
            for n, clip in enumerate(clips)
        ]
        while not all(feed.over for feed in self._feeds):
            self._round()
            watch(self._feeds[0].blocks * INPUT_BLOCK / INPUT_RATE)
        return [feed.hearing for feed in self._feeds]

    def _round(self) -> None:
        for feed in self._feeds:
            while not feed.over and feed.due <= self.clock.now():
                self._put(feed)
        before = self.clock.now()
        self._asr.turn_over(self._asr.arena.bell.take())
        self.asr_ns += self.clock.now() - before
        self._read()
        next_block = min((feed.due for feed in self._feeds if not feed.over), default=0)
        self.clock.wait(min(next_block, self.clock.now() + int(self._asr.until_due() * 1e9)))

    def _put(self, feed: _Feed) -> None:
        due = feed.due
        feed.put()
        self._turn.turn_over(self._turn.arena.bell.take())
        for record in self._owner.events(TURN).take():
            self._mark(
                self._feeds[record.lane], Event(record.event), record.turn, record.answer, due
            )
        idle = self._asr.sessions[feed.lane].due is None
        feed.over = idle and feed.is_over

    def _mark(self, feed: _Feed, event: Event, turn: int, answer: int, due: int) -> None:
        if event not in _MARKS:
            return
        feed.hearing.marks.append(Heard(feed.since_start(due), event, turn, answer))
        if event in (Event.SPEECH_START, Event.RELEASE):
            feed.released = event is Event.RELEASE

    def _read(self) -> None:
        for feed in self._feeds:
            ring = feed.reader
            with ring.read() as batch:
                feed.hearing.slots.extend(
                    Slot(
                        feed.since_start(int(ring.stamp[n]) + self.clock.skipped),
                        Kind(ring.kind[n]),
                        int(ring.turn[n]),
                        int(ring.answer[n]),
                        int(ring.position[n]),
                        int(ring.ids[n]),
                    )
                    for span in batch.spans()
                    for n in range(span.start, span.stop)
                )

    def _reopen(self, number: int) -> None:
        """A new conversation on a lane, as the supervisor begins one."""
        lane = self._owner.lane(number)
        for _ in range(1 + lane.get("session") % 2):  # an open one is closed first
            lane.set("session", lane.get("session") + 1)
            self._turn.turn_over(self._turn.arena.bell.take())
            self._asr.turn_over(self._asr.arena.bell.take())

    def _attach(self, process: str) -> Arena:
        arena = Arena.attach(os.dup(self._owner.fd), process, self._bells)
        self._exit.callback(arena.close)
        return arena
