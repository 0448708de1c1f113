"""What is heard of the answers through a device: written ahead, counted when it sounds. Pure.

`stages.audio.playback` tells what has sounded by the clock alone; a device has a buffer, and its
own word on when a frame is sound. A voice is written up to `LEAD_S` ahead into a buffer that can
be thrown away at once, so that a busy machine is not heard, and a voice that is held or stale is
silent as soon as the device itself is. What was thrown away of an answer that is only held is
written again.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stages.audio.audible import FirstAudible
from stages.audio.device.run import Resampler, Run
from stages.audio.device.sink import Sink
from stages.audio.playback import SECOND, Fact, Gate, Happened, Span, Tick, VoiceBlock, VoiceSource
from stages.lane import is_newer
from stages.messages import Played

LEAD_S = 0.5
DRY_S = 0.02  # a voice that has no more than this ahead, and no more sound, has paused
OTHER_CLOCK_NS = 30_000_000  # less is the device's clock becoming known
FULL_SCALE = np.float32(32768)


@dataclass
class _Block:
    """A block of the voice, copied out of its ring."""

    samples: NDArray[np.int16]
    rate: int
    position: int


@dataclass
class _Answer:
    """One answer on its way to the listener.

    Attributes:
        blocks: from the one that is being heard on.
        written: how many of these are with the device.
        offset: samples of the first one that were heard.
        count: blocks that were taken from the ring.
        done: blocks that were heard to their end.
    """

    number: int
    blocks: deque[_Block] = field(default_factory=deque)
    written: int = 0
    offset: int = 0
    count: int = 0
    done: int = 0
    position: int = 0
    started: bool = False
    final: bool = False
    held: bool = False  # it was silent on purpose
    until: int = 0  # when the last sample that was heard had sounded
    frame: int = 0  # of the sink, with which the last stretch began that was told
    audible: FirstAudible = field(default_factory=FirstAudible)


class Playout:
    """The playback of one conversation; what `Playback` is to an edge without a device.

    Args:
        sink: the device.
        resampler: makes one from a rate to another.
        answer: what the word says when it begins; that answer is over.
    """

    def __init__(
        self, sink: Sink, resampler: Callable[[int, int], Resampler], answer: int = 0
    ) -> None:
        self._sink = sink
        self._resampler = resampler
        self._answer = _Answer(answer, final=True)
        self._runs: deque[Run] = deque()
        self._is_flushing = False

    @property
    def is_playing(self) -> bool:
        """Whether something of an answer is with the device."""
        return bool(self._runs)

    @property
    def is_flushing(self) -> bool:
        """Whether the device has yet to say where the last sound of an answer was."""
        return self._is_flushing

    @property
    def is_speaking(self) -> bool:
        """Whether an answer is on, though it may pause."""
        return bool(self._runs) or (self._answer.started and not self._answer.final)

    def step(self, now: int, gate: Gate, voice: VoiceSource) -> Tick:
        """Tell what was heard, and write what may be.

        Args:
            now: monotonic ns.
            gate: the words, read before `voice` is.
            voice: blocks of one answer after the other.
        """
        tick = Tick()
        if not self._is_flushing:  # else the sink counts what it throws away as gone, too
            self._hear(self._sink.heard(now), tick)
        self._finish(gate, tick)
        if gate.answer != self._answer.number and not self._leave(gate, tick):
            return tick
        self._drop_stale(voice)
        if tick.played is not None and tick.played.final:
            tick.again = True  # its reader must see this word before the next one
        elif self._may_sound(gate):
            self._fill(gate, voice)
            self._hear(self._sink.heard(now), tick)
            self._finish(gate, tick)
        else:
            self._hold(tick)
        return tick

    def _may_sound(self, gate: Gate) -> bool:
        is_wanted = gate.released == gate.answer and not self._answer.final and not gate.hold
        return is_wanted and self._sink.is_open and not self._is_flushing

    def give_up(self) -> Played | None:
        """Nothing more of the current answer will be heard; None if that was so already."""
        answer = self._answer
        if answer.final:
            return None
        answer.final = True
        return Played(answer.number, answer.position, final=True, failed=True)

    def _leave(self, gate: Gate, tick: Tick) -> bool:
        """Leave the answer that became stale; False: the device has not said yet where it ended."""
        if not self._silence(tick):
            return False
        old = self._answer
        if old.started and not old.final:
            tick.played = Played(old.number, old.position, final=True)
            tick.facts.append(Happened(Fact.CUT, old.number, old.until))
        self._answer = _Answer(gate.answer)
        return True

    def _hold(self, tick: Tick) -> None:
        """Be silent, and go on from there some time."""
        if self._silence(tick):
            self._answer.held = True

    def _silence(self, tick: Tick) -> bool:
        """Whether nothing more of what was written will sound; what will is told as heard."""
        if not self._runs:
            return True
        if not self._is_flushing:
            self._sink.flush()
            self._is_flushing = True
        cut = self._sink.cut
        if cut is None:
            return False
        self._is_flushing = False
        self._hear(cut, tick)
        self._runs.clear()
        self._answer.written = 0
        return True

    def _drop_stale(self, voice: VoiceSource) -> None:
        answer = self._answer
        while (block := voice.peek()) is not None:
            is_late = block.answer == answer.number and answer.final
            if not is_late and not is_newer(answer.number, block.answer):
                return
            voice.drop()

    def _fill(self, gate: Gate, voice: VoiceSource) -> None:
        """Write as far ahead as `LEAD_S`."""
        lead = round(LEAD_S * self._sink.rate)
        while self._sink.waiting < lead:
            if self._next(voice) is None:
                break
            self._write()
        answer = self._answer
        is_end = gate.end.answer == answer.number and answer.count >= gate.end.count
        if answer.written == len(answer.blocks):
            dry = self._sink.waiting <= round(DRY_S * self._sink.rate)
            if is_end or dry:
                self._end_run()

    def _next(self, voice: VoiceSource) -> _Block | None:
        """The next block to write, taken from the ring if need be."""
        answer = self._answer
        if answer.written == len(answer.blocks):
            block = voice.peek()
            if block is None or block.answer != answer.number:
                return None
            answer.blocks.append(_copied(block))
            answer.count += 1
            voice.drop()
        return answer.blocks[answer.written]

    def _write(self) -> None:
        """Give one block to the device; the first one from where it was heard to."""
        answer = self._answer
        block = answer.blocks[answer.written]
        offset = 0 if answer.written else answer.offset
        if len(block.samples) > offset:
            run = self._run(block.rate)
            samples = block.samples[offset:].astype(np.float32) / FULL_SCALE
            self._put(run.resampler.feed(samples, last=False))
            run.fed += len(samples)
        answer.written += 1

    def _run(self, rate: int) -> Run:
        if not self._runs or self._runs[-1].is_whole or self._runs[-1].rate != rate:
            self._end_run()
            sink = self._sink
            resampler = self._resampler(rate, sink.rate)
            self._runs.append(Run(sink.written, rate, sink.rate, resampler))
        return self._runs[-1]

    def _end_run(self) -> None:
        """Nothing follows for now: what the resampler still has is the end of it."""
        if self._runs and not self._runs[-1].is_whole:
            run = self._runs[-1]
            self._put(run.resampler.feed(np.empty(0, np.float32), last=True))
            run.is_whole, run.end = True, self._sink.written

    def _put(self, frames: NDArray[np.float32]) -> None:
        if len(frames):
            self._sink.put(frames)

    def _hear(self, frames: int, tick: Tick) -> None:
        """Tell what has sounded when so many frames of the sink have."""
        self._pop_silent(tick)
        while self._runs:
            run = self._runs[0]
            until = run.heard(frames)
            while run.told < until:
                self._tell(run, until, tick)
                self._pop_silent(tick)
            if not run.is_whole or frames < run.end:
                return
            self._runs.popleft()

    def _tell(self, run: Run, until: int, tick: Tick) -> None:
        """Tell of the next samples of a run, at most to the end of a block."""
        answer = self._answer
        block = answer.blocks[0]
        samples = block.samples[answer.offset : answer.offset + until - run.told]
        at, pause = self._time(run, tick)
        tick.spans.append(Span(answer.number, samples, run.rate, at, pause))
        if (loud := answer.audible.feed(samples, run.rate, at)) is not None:
            tick.facts.append(Happened(Fact.AUDIBLE, answer.number, loud))
        run.told += len(samples)
        answer.offset += len(samples)
        answer.until = at + len(samples) * SECOND // run.rate

    def _time(self, run: Run, tick: Tick) -> tuple[int, int]:
        """When the next sample of a run sounded, and for how long it was silent before it.

        Counted on from an instant that the device told, until there was a gap, or the device's
        clock is found to be another one.
        """
        answer, frame = self._answer, run.frame(run.told)
        told = self._sink.time(frame)
        before, answer.frame = answer.frame, frame
        if not answer.started:
            self._start(told, tick)
            return told, 0
        if answer.held:
            answer.held = False
            return told, max(0, told - answer.until)
        silence = self._sink.silence(before, frame)
        if silence:
            tick.facts.append(Happened(Fact.UNDERRUN, answer.number, answer.until, silence))
            return answer.until + silence, silence
        if abs(told - answer.until) > OTHER_CLOCK_NS:
            return told, max(0, told - answer.until)
        return answer.until, 0

    def _start(self, at: int, tick: Tick) -> None:
        answer = self._answer
        answer.started, answer.held = True, False
        tick.facts.append(Happened(Fact.STARTED, answer.number, at))
        if tick.played is None:
            tick.played = Played(answer.number, 0, final=False)

    def _pop_silent(self, tick: Tick) -> None:
        """Blocks of which nothing is left have been heard."""
        answer = self._answer
        while answer.written and answer.offset == len(answer.blocks[0].samples):
            block = answer.blocks.popleft()
            answer.written -= 1
            answer.offset = 0
            answer.done += 1
            if block.position > answer.position:
                answer.position = block.position
                tick.played = Played(answer.number, answer.position, final=False)

    def _finish(self, gate: Gate, tick: Tick) -> None:
        """Close the answer if its last sample has sounded."""
        answer = self._answer
        if answer.final or gate.end.answer != answer.number or answer.done < gate.end.count:
            return
        if gate.released != answer.number:
            return
        answer.final = True
        tick.played = Played(answer.number, answer.position, final=True)
        if answer.started:
            tick.facts.append(Happened(Fact.ENDED, answer.number, answer.until))


def _copied(block: VoiceBlock) -> _Block:
    return _Block(np.array(block.samples), block.rate, block.position)
