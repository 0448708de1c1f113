"""One conversation inside `asr`: speech with marks in, the user's words as ids out.

The protocol is the same for every recogniser, which is only a function from sound to text:

    speech   START  sound ...  SOFT_END  silence ...  RESUME  sound ...  SOFT_END  ...  RELEASE
    heard                      ids END                RESUME             ids END
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from ringbuf import AudioBlock, Kind, Mark
from stages.asr.bridge import Bridge, Ids, count_words
from stages.asr.heard import Heard
from stages.event import Event
from stages.lane import Lane
from stages.messages import CaptionKind, Status, Words
from stages.stage import Session
from stages.topology import INPUT_RATE

LONGEST = 65 * INPUT_RATE
"""Samples of one turn that are kept: as many as the ring holds, more than `turn` ever sends."""

Samples = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class SoftEnd:
    """A pause on which an answer is worth preparing."""

    turn: int
    answer: int
    samples: int
    """of the turn, heard before it"""
    at: int
    """monotonic ns at which it was read"""


class Transcriber(Session):
    """Decodes everything heard in the turn at each soft end, and writes what changed.

    Args:
        lane: the lane.
        recognise: gives the text of int16 [n] at 16 kHz; empty if nobody speaks.
        bridge: turns text into the language model's ids.
        now: the clock, monotonic ns.
        delay_ns: how long a scripted decode takes; a real one takes its time by itself.
    """

    def __init__(
        self,
        lane: Lane,
        recognise: Callable[[Samples], str],
        bridge: Bridge,
        now: Callable[[], int],
        delay_ns: int = 0,
    ) -> None:
        super().__init__(lane)
        self._recognise = recognise
        self._bridge = bridge
        self._now = now
        self._delay_ns = delay_ns
        self._heard = Heard(lane.heard)
        self._sound: list[Samples] = []  # of this turn
        self._samples = 0
        self._turn = self._answer = 0  # of the last block
        self._open = False  # between START and RELEASE
        self._failed = False  # this turn
        self._soft_end: SoftEnd | None = None
        self._result: Words | None = None  # for `turn`, once the ids are on the ring

    def step(self) -> None:
        """Deliver what waits, listen, and transcribe where the speaker paused."""
        if self._deliver():
            self._listen()
            self._transcribe()
        self.due = self._next() if self._deliver() else None

    def fail(self, error: Exception) -> None:
        """End the turn as failed; its later soft ends fail at once, the next turn starts afresh."""
        self._failed = True
        self._soft_end = None
        self._drop_sound()
        self._heard.clear()
        self._finish(Kind.FAILED, Words(self._turn, self._answer, 0, Status.FAILED))
        self.due = self._next() if self._deliver() else None

    def close(self) -> None:
        """Forget the conversation."""
        self._drop_sound()
        self._heard.clear()

    def _listen(self) -> None:
        """Take speech, up to a mark that must wait for a soft end before it."""
        with self.lane.speech.read() as batch:
            for count, block in enumerate(batch):
                if self._soft_end and (self._begins(block) or block.mark is Mark.RELEASE):
                    batch.consume(count)
                    return
                batch.consume(count + 1)
                self._take(block)

    def _take(self, block: AudioBlock) -> None:
        if self._begins(block):
            self._begin()
        self._turn, self._answer = block.turn, block.answer
        if not self._failed:
            self._keep(block)
        match block.mark:
            case Mark.SOFT_END:
                self._soft_end = SoftEnd(block.turn, block.answer, self._samples, self._now())
            case Mark.RESUME:
                self._soft_end = None  # nobody waits for its transcript any more
                self._heard.mark(Kind.RESUME, block.turn, block.answer)
            case Mark.RELEASE:
                self._open = False
                self._drop_sound()

    def _begins(self, block: AudioBlock) -> bool:
        """Tell whether a turn begins; its number says so even if START went down with an error."""
        return block.mark is Mark.START or block.turn != self._turn

    def _begin(self) -> None:
        self._open = True
        self._failed = False
        self._drop_sound()
        self._heard.new_turn()

    def _keep(self, block: AudioBlock) -> None:
        if block.rate != INPUT_RATE:
            raise AudioError(f"speech brings {block.rate} Hz, expected {INPUT_RATE} Hz")
        if not self._open:
            return
        if self._samples + len(block.samples) > LONGEST:
            raise AudioError(
                f"turn {block.turn} is longer than {LONGEST // INPUT_RATE} s",
                "Lower turn.max_turn_s",
            )
        self._sound.append(block.samples.copy())
        self._samples += len(block.samples)

    def _transcribe(self) -> None:
        soft_end = self._soft_end
        if soft_end is None or self._now() < soft_end.at + self._delay_ns:
            return
        self._soft_end = None
        turn, answer = soft_end.turn, soft_end.answer
        if self._failed:
            self._finish(Kind.FAILED, Words(turn, answer, 0, Status.FAILED))
            return
        text = self._decode(soft_end)
        self._write(self._bridge.encode(text), turn, answer)
        if len(self._heard.ids):
            self._finish(Kind.END, Words(turn, answer, count_words(text), Status.OK))
        else:
            self._finish(Kind.EMPTY, Words(turn, answer, 0, Status.EMPTY))

    def _write(self, ids: Ids, turn: int, answer: int) -> None:
        """Revise the turn's words, for the language model and for the client."""
        before = len(self._heard.ids)
        position, tail = self._heard.revise(ids, turn, answer)
        if len(tail) or position < before:
            self.lane.caption(
                CaptionKind.HEARD, turn=turn, answer=answer, position=position, ids=tail
            )

    def _decode(self, soft_end: SoftEnd) -> str:
        self.lane.emit(
            Event.DECODE_START,
            turn=soft_end.turn,
            answer=soft_end.answer,
            value=soft_end.samples * 1000 // INPUT_RATE,
            at=soft_end.at,
        )
        sound = np.concatenate(self._sound) if self._sound else np.empty(0, np.int16)
        return self._recognise(sound[: soft_end.samples])

    def _finish(self, kind: Kind, result: Words) -> None:
        self._heard.mark(kind, result.turn, result.answer)
        self._result = result

    def _deliver(self) -> bool:
        """Write what waits for room; True when nothing is left."""
        if not self._heard.flush():
            return False
        result = self._result
        if result is None:
            return True
        if not self.lane.words.put(result.pack()):
            return False
        self._result = None
        if result.status is not Status.FAILED:
            self.lane.emit(
                Event.FINAL,
                turn=result.turn,
                answer=result.answer,
                value=result.count,
                at=self._now(),
            )
        return True

    def _next(self) -> int | None:
        """When to step again by itself, if everything is delivered; a full ring wakes the lane."""
        if self._soft_end:
            return self._soft_end.at + self._delay_ns
        return 0 if len(self.lane.speech) else None

    def _drop_sound(self) -> None:
        self._sound.clear()
        self._samples = 0
