"""The protocol between reply and voice, the same for every voice."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ringbuf import Kind, TokenRun
from stages.event import Event
from stages.lane import Lane, is_newer
from stages.messages import End, Status
from stages.stage import Session
from stages.tts.told import ToldUtterance
from stages.tts.utterance import Sound, Utterance

READ_LIMIT = 256  # slots a step, so that a long reply does not hold up the other lanes
BLOCK_S = 0.02


@dataclass
class Answer:
    """How far one answer has come.

    Attributes:
        samples, blocks: put on the ring so far.
        voiced: position of the last id voiced to its end; -1: none.
        status: how the reply ended; None: more ids may come.
        is_over: `voice_end` was set; whatever still comes is ignored.
        ready_at: monotonic ns since when it could go on, but for the voice, whoever is served
            before; None: it cannot.
        first_words: since when the words of the first sound were known.
    """

    number: int
    utterance: Utterance
    turn: int = 0
    samples: int = 0
    blocks: int = 0
    voiced: int = -1
    status: Status | None = None
    is_over: bool = False
    ready_at: int | None = None
    first_words: int | None = None


class Speaker(Session):
    """Speaks the newest answer of a lane; ids and sound of older ones are dropped.

    A step synthesises at most one stretch, and only when all earlier sound is on the ring, so that
    a full ring holds the voice back.

    Args:
        lane: the lane.
        begin: makes the utterance of a new answer.
        now: the clock, monotonic ns.
    """

    def __init__(self, lane: Lane, begin: Callable[[], Utterance], now: Callable[[], int]) -> None:
        super().__init__(lane)
        self._begin = begin
        self._now = now
        self._pending: Sound | None = None
        self._put = 0  # samples of the pending sound that are on the ring
        # What the lane's last session asked for is over.
        self._answer = Answer(lane.answer, begin(), status=Status.EMPTY, is_over=True)

    def step(self) -> None:
        """Read ids, put sound, synthesise a stretch."""
        if self.listen():
            self.speak()

    def listen(self) -> bool:
        """Read ids and put sound; whether all sound is put, so that there is room for more."""
        self._follow(self.lane.answer)
        self._read()
        self.due = 0 if len(self.lane.reply) else None
        return self._put_pending()

    def speak(self) -> bool:
        """Synthesise a stretch; whether there was anything to say."""
        answer = self._answer
        if answer.is_over:
            return False
        since = answer.ready_at or self._now()
        if sound := answer.utterance.more():
            self._pending = sound
            if answer.first_words is None:
                answer.first_words = since
            self._follow(self.lane.answer)  # that took a while: it may be stale by now
            self._tell_late(since)
            self._put_pending()
            self.due = 0
            return True
        answer.ready_at = None
        if (due := answer.utterance.due) is not None:
            self.due = due if self.due is None else self.due
        elif answer.status is not None:
            self._finish(answer.status)
        return False

    @property
    def ahead(self) -> int:
        """How many blocks of the answer wait to be heard: who has fewest is served first."""
        return len(self.lane.voice) if self._answer.blocks else 0

    def fail(self, error: Exception) -> None:
        """The answer ends where its sound on the ring ends."""
        self._pending = None
        self._finish(Status.FAILED)
        self.due = 0 if len(self.lane.reply) else None

    def close(self) -> None:
        """Nothing outlives the session: memory goes with this object."""

    def _adopt(self, number: int) -> None:
        self._answer = Answer(number, self._begin())
        self._pending, self._put = None, 0

    def _follow(self, number: int) -> None:
        if is_newer(number, self._answer.number):
            self._adopt(number)

    def _read(self) -> None:
        with self.lane.reply.read(READ_LIMIT) as batch:
            stamps = iter(batch.stamps())
            for run in batch.runs():
                put = list(islice(stamps, len(run.ids)))
                self._follow(run.answer)
                if run.answer == self._answer.number and self._answer.status is None:
                    self._take(run, put)

    def _take(self, run: TokenRun, put: list[int]) -> None:
        """Feed a run to the utterance; `put`: when each of its slots was, monotonic ns."""
        answer = self._answer
        answer.turn = run.turn
        if run.kind is Kind.TEXT and not isinstance(answer.utterance, ToldUtterance):
            answer.utterance = ToldUtterance()
        if run.kind in (Kind.ID, Kind.TEXT):
            for position, (id, at) in enumerate(
                zip(run.ids.tolist(), put, strict=True), run.position
            ):
                answer.utterance.feed(id, position)
                self._note_ready(at)
        elif run.kind in _STATUS:
            answer.status = _STATUS[run.kind]
            answer.utterance.end(complete=answer.status is Status.OK)
            self._note_ready(put[0])

    def _note_ready(self, at: int) -> None:
        """Keep when the next sound became possible: its turn to be made may come much later."""
        answer = self._answer
        if answer.ready_at is None and not self._pending and answer.utterance.is_ready:
            answer.ready_at = at

    def _put_pending(self) -> bool:
        """Put the pending sound, as much as there is room for; whether all of it is put."""
        sound = self._pending
        rate = self._answer.utterance.rate
        size = min(self.lane.voice.block, round(BLOCK_S * rate))
        if sound and not len(sound.samples) and not self._put_block(sound, sound.samples, rate):
            return False
        while sound and self._put < len(sound.samples):
            if not self._put_block(sound, sound.samples[self._put : self._put + size], rate):
                return False
        self._pending, self._put = None, 0
        if sound:
            self._answer.voiced = sound.position
            self._answer.ready_at = None
            self._note_ready(self._now())
        return True

    def _tell_late(self, since: int) -> None:
        """Say so if the listener has run out of sound while the voice knew what to say."""
        answer = self._answer
        is_heard = self._pending and answer.blocks and self.lane.released == answer.number
        if is_heard and not len(self.lane.voice):
            self._emit(Event.VOICE_LATE, self._now() - since)

    def _put_block(self, sound: Sound, block: NDArray[np.int16], rate: int) -> bool:
        answer = self._answer
        end = self._put + len(block)
        # Ids are taken to be spread evenly over their stretch; rounded down to what was heard.
        share = (end, len(sound.samples)) if len(sound.samples) else (1, 1)
        voiced = answer.voiced + (sound.position - answer.voiced) * share[0] // share[1]
        if not self.lane.voice.put(
            block,
            first=answer.samples,
            rate=rate,
            turn=answer.turn,
            answer=answer.number,
            position=voiced + 1,
        ):
            return False
        if not answer.samples and len(block):
            self._emit(Event.FIRST_WORDS, 0, answer.first_words)
            self._emit(Event.FIRST_SOUND, 0)
        self._put = end
        answer.samples += len(block)
        answer.blocks += 1
        return True

    def _finish(self, status: Status) -> None:
        """Say where the sound ends; an answer without any sound is an empty one."""
        answer = self._answer
        if answer.is_over:
            return
        answer.is_over = True
        answer.status = status
        if status is Status.OK and not answer.blocks:
            status = Status.EMPTY
        if answer.samples:
            self._emit(Event.LAST_SOUND, answer.blocks)
        self.lane.voice_end = End(answer.number, answer.blocks, status)

    def _emit(self, event: Event, value: int, at: int | None = None) -> None:
        answer, at = self._answer, self._now() if at is None else at
        self.lane.emit(event, turn=answer.turn, answer=answer.number, value=value, at=at)


_STATUS = {Kind.END: Status.OK, Kind.EMPTY: Status.EMPTY, Kind.FAILED: Status.FAILED}
