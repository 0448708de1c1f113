"""One conversation inside `asr`: speech with marks in, the user's words as ids out.

The protocol is the same for every recogniser:

    speech  START sound … sound …  PAUSE  SOFT_END  silence  RESUME sound … PAUSE SOFT_END … RELEASE
    heard          ids … ids …               ids END         RESUME    ids …      ids END

While the speaker goes on, the words that decodes agree on are written as they come. At a pause the
whole utterance is decoded at once, before it is known whether the pause is an end; if it is, that
decode is adopted, and only what differs from the written words is written again.

Speech over an answer is tentative: its turn is newer than the lane's. `turn` is told what it
brings, the language model nothing, until `turn` makes it a turn or it is over.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.config import AsrConfig
from pipeline.errors import AudioError
from ringbuf import AudioBlock, Kind, Mark
from stages.asr.agreement import Agreement
from stages.asr.backchannels import Backchannels
from stages.asr.bridge import Bridge
from stages.asr.cadence import Cadence
from stages.asr.heard import Heard
from stages.asr.recogniser import Decoding, Recogniser
from stages.asr.transcript import Transcript
from stages.asr.word_ids import WordIds
from stages.event import Event
from stages.lane import Lane, is_newer
from stages.messages import CaptionKind, Status, Words
from stages.stage import Session
from stages.topology import INPUT_RATE

QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")  # of Latin, CJK, Arabic and Greek scripts
CLOSING = "\"')\u2019\u201d\u00bb"


@dataclass(slots=True)
class _SoftEnd:
    """A pause on which an answer is worth preparing."""

    turn: int
    answer: int
    reported: bool = False
    """`turn` knows what a tentative utterance brings."""
    dismissed: bool = False
    """It brings nothing: nobody waits for the rest."""


@dataclass(slots=True)
class _Job:
    """A decode in progress."""

    decoding: Decoding
    began: int
    """monotonic ns"""
    final: bool
    due: int = 0
    """monotonic ns before which it need not go on"""


class Transcriber(Session):
    """Writes the words of one lane's user while they are spoken.

    A step hears what came and runs a final decode to its end; a decode of speech that goes on
    waits for `go_on`, one phase a call, so that final decodes of all lanes come first.

    Args:
        lane: the lane.
        recogniser: this conversation's.
        bridge: turns text into the language model's ids.
        config: when to decode, and what to believe.
        now: the clock, monotonic ns.
        backchannels: what does not interrupt an answer.
    """

    def __init__(
        self,
        lane: Lane,
        recogniser: Recogniser,
        bridge: Bridge,
        config: AsrConfig,
        now: Callable[[], int],
        backchannels: Backchannels,
    ) -> None:
        super().__init__(lane)
        self._recogniser = recogniser
        self._now = now
        self._at_pause = config.decode_at_pause
        self._streams = config.partials and recogniser.streams
        self._agreement = Agreement(config.agreement)
        self._cadence = Cadence(config.first_ms, config.step_ms)
        self._ids = WordIds(bridge)
        self._heard = Heard(lane.heard)
        self._backchannels = backchannels
        self._unwritten: tuple[str, ...] | None = None  # words of a tentative utterance
        self._samples = 0  # heard of this turn
        self._turn = self._answer = 0  # of the last block
        self._open = False  # between START and RELEASE
        self._failed = False  # this turn
        self._job: _Job | None = None
        self._paused = False  # a final decode is wanted, and not begun
        self._final: Transcript | None = None  # of the pause that goes on
        self._soft_end: _SoftEnd | None = None
        self._ended = False  # softly: until RESUME there is only silence
        self._result: Words | None = None  # for `turn`, once the ids are on the ring

    @property
    def waiting_since(self) -> int | None:
        """When the decode of speech that goes on began, which waits for `go_on`; none waits."""
        job = self._job
        return job.began if job and not job.final and job.due <= self._now() else None

    def step(self) -> None:
        """Deliver what waits, listen, and decode an utterance that may be complete."""
        if self._deliver():
            self._write_tentative()
            self._listen()
            self._decode()
            if self._final is not None:
                self._listen()  # the soft end may have come while it was being decoded
            self._answer_soft_end()
        self._set_due()

    def go_on(self) -> None:
        """One phase of the decode of speech that goes on."""
        job = self._job
        if job and not job.final and (heard := self._advance(job)):
            if self._is_tentative:
                self._report(heard, self._answer, final=False)
            before = len(self._heard.ids)
            self._write(self._agreement.offer(heard.words), complete=False)
            if len(self._heard.ids) > before:
                self._emit(Event.COMMIT, len(self._heard.ids))
        self._set_due()

    def fail(self, error: Exception) -> None:
        """End the turn as failed; its later soft ends fail at once, the next turn starts afresh."""
        self._failed = True
        self._forget_sound()
        self._heard.clear()
        self._finish(Kind.FAILED, Words(self._turn, self._answer, 0, Status.FAILED))
        self._set_due()

    def close(self) -> None:
        """Forget the conversation."""
        self._forget_sound()
        self._heard.clear()

    def _listen(self) -> None:
        """Take speech, up to a mark that must wait for a soft end before it."""
        with self.lane.speech.read() as batch:
            for count, block in enumerate(batch):
                if self._must_wait(block, is_last=count + 1 == len(batch)):
                    batch.consume(count)
                    return
                batch.consume(count + 1)
                self._take(block)

    def _must_wait(self, block: AudioBlock, *, is_last: bool) -> bool:
        """Whether a mark must wait until the soft end before it is answered."""
        if self._soft_end is None or self._soft_end.dismissed:
            return False
        if self._is_tentative and not is_last:
            return False  # something new was begun, and this utterance never made a turn
        return self._begins(block) or block.mark is Mark.RELEASE

    def _take(self, block: AudioBlock) -> None:
        if self._begins(block):
            self._begin()
        self._turn, self._answer = block.turn, block.answer
        if not self._failed:
            self._keep(block)
        match block.mark:
            case Mark.PAUSE:
                self._give_up()
                self._paused = self._at_pause and self._open and not self._failed
            case Mark.SOFT_END:
                self._ended = True
                self._soft_end = _SoftEnd(block.turn, block.answer)
                if self._job and not self._job.final:
                    self._drop_job()  # one that began in the silence before
                if self._final is None and self._job is None:
                    self._begin_final()  # before the sound behind it is heard
            case Mark.RESUME:
                self._give_up()
                self._ended = False
                self._soft_end = None  # nobody waits for its transcript any more
                self._recogniser.settle()
                if not self._is_tentative:
                    self._heard.mark(Kind.RESUME, block.turn, block.answer)
            case Mark.GREET | Mark.ASK:
                self._open = False
                kind = Kind.GREET if block.mark is Mark.GREET else Kind.ASK
                self._heard.mark(kind, block.turn, block.answer)
            case Mark.DROP:
                self._open = False
                self._forget_sound()
                if not self._is_tentative:
                    self._heard.mark(Kind.EMPTY, block.turn, block.answer)
            case Mark.RELEASE:
                self._open = False
                self._forget_sound()

    def _begins(self, block: AudioBlock) -> bool:
        """Tell whether a turn begins; its number says so even if START went down with an error."""
        return block.mark is Mark.START or block.turn != self._turn

    def _begin(self) -> None:
        self._open = True
        self._failed = False
        self._forget_sound()
        self._agreement.clear()
        self._cadence.clear()
        self._ids.clear()
        self._heard.new_turn()

    @property
    def _is_tentative(self) -> bool:
        """The utterance came over an answer and is no turn yet."""
        return is_newer(self._turn, self.lane.turn)

    @property
    def _waits_for_turn(self) -> bool:
        """There are words over an answer, and `turn` has still to make them a turn."""
        soft_end = self._soft_end
        is_told = soft_end is not None and soft_end.reported and not soft_end.dismissed
        return is_told and self._is_tentative

    def _write_tentative(self) -> None:
        """Write what came over an answer, once it is a turn."""
        if self._unwritten is not None and not self._is_tentative:
            self._write(self._unwritten, complete=False)

    def _keep(self, block: AudioBlock) -> None:
        if block.rate != INPUT_RATE:
            raise AudioError(f"speech brings {block.rate} Hz, expected {INPUT_RATE} Hz")
        if self._open and len(block.samples):
            self._recogniser.hear(block.samples)
            self._samples += len(block.samples)

    def _decode(self) -> None:
        """Begin what is due, and run a final decode as far as it goes."""
        if self._failed or not self._open:
            return
        if self._paused:
            self._begin_final()
        elif self._goes_on and self._cadence.is_due(self._samples):
            self._cadence.began(self._samples)
            self._job = self._begin_job(final=False)
        while self._job and self._job.final and self._job.due <= self._now():
            if heard := self._advance(self._job):
                self._final = heard
                self._write(self._agreement.offer(heard.words), complete=False)

    @property
    def _goes_on(self) -> bool:
        """The speaker may do, and nothing is being decoded."""
        return self._streams and not (self._job or self._ended)

    def _begin_final(self) -> None:
        self._paused = False
        if self._failed:
            return
        if not self._open:
            self._final = Transcript()
            return
        self._job = self._begin_job(final=True)
        self.lane.emit(
            Event.DECODE_START,
            turn=self._turn,
            answer=self._answer,
            value=self._samples * 1000 // INPUT_RATE,
            at=self._job.began,
        )

    def _begin_job(self, *, final: bool) -> _Job:
        return _Job(self._recogniser.decode(final=final), self._now(), final)

    def _advance(self, job: _Job) -> Transcript | None:
        """One phase of a decode; its words when it is complete."""
        try:
            job.due = next(job.decoding)
            return None
        except StopIteration as end:
            self._job = None
            self._cadence.took(self._now() - job.began)
            heard: Transcript = end.value
            return heard

    def _give_up(self) -> None:
        """Whatever is being decoded, there is more to hear, or something more urgent."""
        self._drop_job()
        self._final = None
        self._paused = False

    def _drop_job(self) -> None:
        if self._job:
            self._job.decoding.close()
        self._job = None

    def _answer_soft_end(self) -> None:
        soft_end = self._soft_end
        if soft_end is None:
            return
        turn, answer = soft_end.turn, soft_end.answer
        if self._failed:
            self._soft_end = None
            self._finish(Kind.FAILED, Words(turn, answer, 0, Status.FAILED))
        elif self._final is not None and self._is_tentative:
            self._judge(soft_end, self._final)
        elif self._final is not None:
            self._soft_end = None
            words = self._agreement.settle(self._final.words)
            self._write(words, complete=True)
            if len(self._heard.ids):
                self._finish(Kind.END, said(words, turn, answer))
            else:
                self._finish(Kind.EMPTY, Words(turn, answer, 0, Status.EMPTY))

    def _judge(self, soft_end: _SoftEnd, heard: Transcript) -> None:
        """Tell `turn` what came over the answer; if it is worth a turn, that waits for one."""
        if not soft_end.reported:
            soft_end.reported = True
            said = self._report(heard, soft_end.answer, final=True)
            soft_end.dismissed = said.backchannel or not said.count

    def _report(self, heard: Transcript, answer: int, *, final: bool) -> Words:
        """Tell `turn` of a tentative utterance."""
        words, told = heard.words, said(heard.words, self._turn, answer)
        is_hum = self._backchannels.is_hum(words, heard.avg_logprob, self._samples / INPUT_RATE)
        listens = bool(words) and (is_hum or self._backchannels.match(words))
        self._result = replace(told, final=final, backchannel=listens)
        return self._result

    def _write(self, words: tuple[str, ...], *, complete: bool) -> None:
        """Revise the turn's words, for the language model and for the client."""
        self._unwritten = words if self._is_tentative else None
        if self._is_tentative:
            return
        before = len(self._heard.ids)
        ids = self._ids.encode(words, complete=complete)
        position, tail = self._heard.revise(ids, self._turn, self._answer)
        if len(tail) or position < before:
            self.lane.caption(
                CaptionKind.HEARD, turn=self._turn, answer=self._answer, position=position, ids=tail
            )
            self._heard.flush()

    def _finish(self, kind: Kind, result: Words) -> None:
        self._result = result
        if self._is_tentative:
            return
        position = len(self._heard.ids)
        self.lane.caption(
            CaptionKind.HEARD_ALL, turn=result.turn, answer=result.answer, position=position
        )
        self._heard.mark(kind, result.turn, result.answer)

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
        is_told = result.final and not self._is_tentative
        if is_told and result.status is not Status.FAILED:
            self._emit(Event.FINAL, result.count)
        return True

    def _emit(self, event: Event, value: int) -> None:
        self.lane.emit(event, turn=self._turn, answer=self._answer, value=value, at=self._now())

    def _set_due(self) -> None:
        """When to step again by itself, if everything is delivered; a full ring wakes the lane."""
        if not self._deliver() or self._waits_for_turn:
            self.due = None
        elif self._job:
            self.due = self._job.due
        elif self._paused:
            self.due = 0
        else:
            self.due = 0 if len(self.lane.speech) else None

    def _forget_sound(self) -> None:
        self._give_up()
        self._soft_end = None
        self._ended = False
        self._unwritten = None
        self._samples = 0
        self._recogniser.clear()


def said(words: tuple[str, ...], turn: int, answer: int) -> Words:
    """What `turn` is told of these words."""
    status = Status.OK if words else Status.EMPTY
    question = bool(words) and words[-1].rstrip(CLOSING).endswith(QUESTION_MARKS)
    return Words(turn, answer, len(words), status, question=question)
