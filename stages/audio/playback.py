"""What is heard of the answers, and when: the gate and the clock of the last stage.

Pure: the ring is anything with `peek` and `drop`, the time is passed in. A device, a socket and a
file differ only in where the samples go.

A block is played only if its answer is the current and the released one and nothing holds it. Its
samples sound at the pace of their rate from the instant the gate opened, or from the instant it
came if that was later. Samples count as played when their time has passed, so that `position`
never runs ahead of the listener. A step that comes late changes nothing in the times; only what
it finds stale or held stops where the last step left it.
"""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stages.audio.audible import FirstAudible
from stages.lane import is_newer
from stages.messages import End, Played, Status

SECOND = 1_000_000_000
_NO_END = End(0, 0, Status.OK)


class VoiceBlock(Protocol):
    """What playback reads of a block of sound; see `ringbuf.AudioBlock`."""

    @property
    def samples(self) -> NDArray[np.int16]: ...  # noqa: D102
    @property
    def rate(self) -> int: ...  # noqa: D102
    @property
    def answer(self) -> int: ...  # noqa: D102
    @property
    def position(self) -> int: ...  # noqa: D102
    @property
    def stamp(self) -> int: ...  # noqa: D102


class VoiceSource(Protocol):
    """Where blocks wait; see `ringbuf.AudioRing`."""

    def peek(self) -> VoiceBlock | None: ...  # noqa: D102
    def drop(self, count: int = 1) -> None: ...  # noqa: D102


@dataclass(frozen=True)
class Gate:
    """The control words at one instant.

    Attributes:
        answer: the answer that counts; all older ones are stale.
        released: the answer that may be heard.
        hold: someone speaks: nothing is heard for now.
        end: how many blocks an answer has.
    """

    answer: int = 0
    released: int = 0
    hold: bool = False
    end: End = _NO_END


class Fact(Enum):
    """What happened to an answer."""

    STARTED = auto()  # its first sample sounds
    AUDIBLE = auto()  # its first 10 ms that are loud enough sound
    UNDERRUN = auto()  # it ran out of sound in the middle; value: for how many ns
    ENDED = auto()  # its last sample has sounded
    CUT = auto()  # it became stale while it sounded


@dataclass(frozen=True)
class Happened:
    """One fact.

    Attributes:
        at: monotonic ns.
        value: what the fact says it is.
    """

    fact: Fact
    answer: int
    at: int
    value: int = 0


@dataclass(frozen=True)
class Span:
    """Samples that were played without a break.

    Attributes:
        samples: int16 [n], a copy.
        at: monotonic ns at which the first of them sounded.
        pause_ns: silence between the answer's sample before and this one.
        position: how many ids of the answer are voiced to their end by the last of them.
    """

    answer: int
    samples: NDArray[np.int16]
    rate: int
    at: int
    pause_ns: int = 0
    position: int = 0


@dataclass
class Tick:
    """What one step did.

    Attributes:
        played: the newest state of the answer, if it changed.
        again: there may be more to do at once.
    """

    spans: list[Span] = field(default_factory=list)
    facts: list[Happened] = field(default_factory=list)
    played: Played | None = None
    again: bool = False


@dataclass
class _Run:
    """Samples that sound without a break: sample n of it sounds at start + n / rate."""

    start: int
    rate: int
    pause: int = 0  # ns of silence before it, until the first samples have told it
    count: int = 0

    @property
    def clock(self) -> int:
        """When the next sample sounds."""
        return self.start + self.count * SECOND // self.rate

    def due(self, now: int) -> int:
        """How many samples more have sounded by now."""
        return max(0, (now - self.start) * self.rate // SECOND - self.count)


@dataclass
class _Answer:
    """One answer on its way to the listener."""

    number: int
    open_at: int | None = None  # since when it may be heard; None: the gate is shut
    ended_at: int | None = None  # where its last run ended
    run: _Run | None = None
    offset: int = 0  # samples of the block at the head that were played
    count: int = 0  # samples that were played, in all
    blocks: int = 0
    position: int = 0
    started: bool = False
    final: bool = False
    audible: FirstAudible = field(default_factory=FirstAudible)

    @property
    def until(self) -> int:
        """When the last sample that was played had sounded; the answer must have started."""
        until = self.ended_at if self.run is None else self.run.clock
        assert until is not None, "a started answer has a run or has ended one"
        return until


class Playback:
    """The playback of one conversation.

    Args:
        answer: what the word says when it begins; that answer is over.
    """

    def __init__(self, answer: int = 0) -> None:
        self._answer = _Answer(answer, final=True)

    def step(self, now: int, gate: Gate, voice: VoiceSource) -> Tick:
        """Play what is due.

        Args:
            now: monotonic ns, not before that of the last step.
            gate: the words, read before `voice` is.
            voice: blocks of one answer after the other.
        """
        tick = Tick()
        if gate.answer != self._answer.number:
            self._switch(now, gate, voice, tick)
        self._drop_stale(voice)
        if tick.played is not None:  # its reader must see this word before the next one
            tick.again = True
        elif gate.released != gate.answer or self._answer.final:
            self._shut()
        else:
            self._advance(now, gate, voice, tick)
            self._finish(gate, tick)
        return tick

    def _switch(self, now: int, gate: Gate, voice: VoiceSource, tick: Tick) -> None:
        """Leave the answer that became stale.

        Of one that never sounded nothing is said, so that the word on the last one that did stays
        for a reader that has not seen it.
        """
        old = self._answer
        if old.started and not old.final:
            self._finish(gate, tick)  # its end may have come since the last step
        if old.started and not old.final:
            self._cut(now, voice, tick)
        elif old.position and not old.final:  # it was told as text
            tick.played = Played(old.number, old.position, final=True)
        self._answer = _Answer(gate.answer)

    def _cut(self, now: int, voice: VoiceSource, tick: Tick) -> None:
        """End the answer in mid-sound."""
        old, block = self._answer, voice.peek()
        tick.played = Played(old.number, old.position, final=True)
        starved = old.run is not None and (block is None or block.answer != old.number)
        if starved and old.until < now:
            late = now - old.until
            tick.facts.append(Happened(Fact.UNDERRUN, old.number, old.until, late))
        tick.facts.append(Happened(Fact.CUT, old.number, old.until))

    def due(self, now: int) -> int:
        """How many samples of the answer have sounded by now, if they were there."""
        answer = self._answer
        return answer.count + (answer.run.due(now) if answer.run else 0)

    def anchor(self, now: int, samples: int) -> None:
        """It is known how many samples of the answer have sounded by now: go on from there.

        What counted as played already goes on counting; its clock then waits.
        """
        run = self._answer.run
        if run is not None:
            of_run = samples - (self._answer.count - run.count)
            run.start = now - of_run * SECOND // run.rate

    def give_up(self) -> Played | None:
        """Nothing more of the current answer will be heard; None if that was so already."""
        answer = self._answer
        if answer.final:
            return None
        answer.final = True
        return Played(answer.number, answer.position, final=True, failed=True)

    def _drop_stale(self, voice: VoiceSource) -> None:
        answer = self._answer
        while (block := voice.peek()) is not None:
            is_late = block.answer == answer.number and answer.final
            if not is_late and not is_newer(answer.number, block.answer):
                return
            voice.drop()

    def _shut(self) -> None:
        """Nothing may be heard: stop the clock."""
        answer = self._answer
        if answer.run is not None:
            answer.ended_at = answer.run.clock
        answer.run, answer.open_at = None, None

    def _advance(self, now: int, gate: Gate, voice: VoiceSource, tick: Tick) -> None:
        answer = self._answer
        if gate.hold:
            self._shut()
            return
        if answer.open_at is None:
            answer.open_at = now
        while (block := voice.peek()) is not None and block.answer == answer.number:
            if not self._play(block, now, tick):
                return
            voice.drop()
            answer.offset = 0
            answer.blocks += 1
            if block.position > answer.position:
                answer.position = block.position
                tick.played = Played(answer.number, answer.position, final=False)

    def _play(self, block: VoiceBlock, now: int, tick: Tick) -> bool:
        """Play what is due of a block; whether that was its last sample."""
        answer = self._answer
        left = len(block.samples) - answer.offset
        if left == 0:
            return True
        run = self._run_for(block, tick)
        count = min(run.due(now), left)
        if count:
            samples = np.array(block.samples[answer.offset : answer.offset + count])
            told = max(answer.position, block.position if count == left else 0)
            tick.spans.append(Span(answer.number, samples, run.rate, run.clock, run.pause, told))
            if (at := answer.audible.feed(samples, run.rate, run.clock)) is not None:
                tick.facts.append(Happened(Fact.AUDIBLE, answer.number, at))
            run.pause = 0
            run.count += count
            answer.count += count
            answer.offset += count
        return count == left

    def _run_for(self, block: VoiceBlock, tick: Tick) -> _Run:
        """The run that the next sample of a block belongs to."""
        answer, run = self._answer, self._answer.run
        if run is None:
            assert answer.open_at is not None, "the gate is open"
            answer.run = self._first_run(max(answer.open_at, block.stamp), block.rate, tick)
        elif answer.offset == 0 and block.stamp > run.clock:
            late = block.stamp - run.clock
            tick.facts.append(Happened(Fact.UNDERRUN, answer.number, run.clock, late))
            answer.run = _Run(block.stamp, block.rate, run.pause + late)
        elif block.rate != run.rate:
            answer.run = _Run(run.clock, block.rate, run.pause)
        assert answer.run is not None
        return answer.run

    def _first_run(self, start: int, rate: int, tick: Tick) -> _Run:
        """The run with which an answer begins, or goes on after it was held."""
        answer = self._answer
        if answer.ended_at is not None:
            return _Run(start, rate, start - answer.ended_at)
        answer.started = True
        tick.facts.append(Happened(Fact.STARTED, answer.number, start))
        tick.played = Played(answer.number, 0, final=False)
        return _Run(start, rate)

    def _finish(self, gate: Gate, tick: Tick) -> None:
        """Close the answer if its last sample has sounded."""
        answer = self._answer
        if gate.end.answer != answer.number or answer.blocks < gate.end.count:
            return
        answer.final = True
        tick.played = Played(answer.number, answer.position, final=True)
        if answer.started:
            tick.facts.append(Happened(Fact.ENDED, answer.number, answer.until))
