"""The edge of a program that brings its own sound: memory in, memory out."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from pipeline.events import Sound, SoundCut, SoundEnded, SoundEvent, SoundPaused, SoundResumed
from stages.audio.ahead import Ahead, Piece
from stages.audio.loudspeaker import Loudspeaker
from stages.audio.microphone import SAMPLE_NS
from stages.audio.playback import SECOND, Gate, Playback, Span
from stages.audio.recorder import Recorder
from stages.event import Event
from stages.lane import Lane
from stages.messages import Command, CommandAt, Played
from stages.stage import Session, Stage
from stages.topology import AUDIO, INPUT_BLOCK, INPUT_RATE

SoundSink = Callable[[SoundEvent], None]
STEP_NS = 20_000_000  # between two looks at the clock while an answer may be heard
BLOCK_NS = INPUT_BLOCK * SAMPLE_NS
REST_NS = 4 * BLOCK_NS  # less than a block is passed on if nothing follows for so long
RECORD_NS = 100_000_000  # between two looks at the clock of a recording
LEAD = INPUT_RATE  # samples that may wait for room before the caller is told to
JITTER_NS = 250_000_000  # a microphone that is silent for longer has paused
REPORT_NS = 200_000_000  # in which a client says how much it has played of a cut answer


class ClientAudio(Stage):
    """Serves lanes that live in the calling program."""

    name = AUDIO

    def open(self, lane: Lane) -> "ClientSession":
        """A new conversation."""
        return ClientSession(lane, self.host.now, self.config.record)


class ClientSession(Session):
    """One lane.

    An idle one costs nothing: it is stepped when something comes, and by the clock only while an
    answer may be heard, less than a block of the microphone waits, or a recording is written.

    Args:
        now: the clock, monotonic ns.
        record: folder for a recording of both sides; "": there is none.

    Attributes:
        on_sound: gets sound at the instant it is to be heard, and what becomes of it.
    """

    def __init__(self, lane: Lane, now: Callable[[], int], record: str = "") -> None:
        super().__init__(lane)
        self.on_sound: SoundSink = lambda event: None
        self._now = now
        self._waiting = np.empty(0, np.int16)
        self._written = 0  # samples, since the lane was opened
        self._fed_at = 0  # monotonic ns
        self._is_muted = False
        self._records = bool(record)
        self._recorder = Recorder(lane, record, now(), jitter_ns=JITTER_NS)
        self._playback = Playback(lane.answer)
        self._loudspeaker = Loudspeaker(
            lane,
            playback=self._playback,
            on_start=self._started,
            on_span=self._played,
            on_end=self._ended,
            on_played=self._tell_played,
        )
        self._ahead: Ahead | None = None
        self._reports = False
        self._sounding: int | None = None  # the answer that is heard
        self._turn = 0  # that it belongs to
        self._samples = 0  # of it that were told, without a lead
        self._is_paused = False
        self._reported: tuple[int, int] | None = None  # answer and samples, since it was paused
        self._unsure: Played | None = None  # the last word on a cut answer, if no report comes
        self._unsure_until = 0  # monotonic ns

    def lead(self, lead_ns: int) -> None:
        """Tell sound so long before it is to be heard; before the first answer."""
        self._ahead = Ahead(lead_ns) if lead_ns else None

    @property
    def is_behind(self) -> bool:
        """Whether more than LEAD samples wait for room."""
        return len(self._waiting) > LEAD

    def feed(self, samples: NDArray[np.int16]) -> None:
        """Add to the microphone, int16 [n], 16 kHz mono; whole blocks are passed on at once."""
        self._waiting = np.concatenate((self._waiting, samples))
        self._fed_at = self._now()
        self._hear(all_of_it=False)
        if len(self._waiting) and self.due is None:
            self.due = self._fed_at + REST_NS

    def command(self, command: Command, payload: bytes = b"") -> None:
        """Ask something of `turn`, once it has heard what was fed until now.

        Raises:
            AudioError: it does not follow what was asked before.
        """
        self._hear(all_of_it=True)
        message = CommandAt(command, self._written + len(self._waiting), payload).pack()
        if not self.lane.commands.put(message):
            raise AudioError("too many commands are waiting", "Wait for what was asked before")
        if command in (Command.MUTE, Command.UNMUTE):
            self._is_muted = command is Command.MUTE

    def report(self, answer: int, samples: int, *, final: bool) -> None:
        """The client tells how much of an answer has left its loudspeaker; needs a lead.

        Args:
            samples: of the answer, at the voice's rate.
            final: no more of it will.
        """
        ahead = self._ahead
        if ahead is None or ahead.answer != answer:
            return
        self._reports = True
        samples = min(samples, ahead.sent)
        if self._is_paused or final:
            self._reported = (answer, samples)
        if self._unsure and self._unsure.answer == answer:
            if final:
                self._settle()
        elif self._sounding == answer:
            self._playback.anchor(self._now(), samples)

    def step(self) -> None:
        """Pass on what was fed, play what is due."""
        now = self._now()
        self.due = now + STEP_NS  # should one of these raise
        self._hear(all_of_it=now >= self._fed_at + REST_NS)
        if self._unsure and now >= self._unsure_until:
            self._settle()
        gate = self._loudspeaker.gate
        self._follow_hold(gate)
        if self._ahead:
            self._send_ahead(self._ahead, now, gate)
        again = self._loudspeaker.step(now, gate)
        self._recorder.step(now)
        self.due = 0 if again else self._next_due(now, gate)

    def fail(self, error: Exception) -> None:
        """Say nothing more of this answer."""
        self._loudspeaker.give_up()
        self._sounding = None

    def close(self) -> None:
        """Keep what was heard so far."""
        self._recorder.close()

    def _next_due(self, now: int, gate: Gate) -> int | None:
        """When to look again though nothing comes."""
        dues = []
        if self._sounding is not None and not gate.hold:
            dues.append(now + STEP_NS)
        if len(self._waiting):
            dues.append(max(self._fed_at + REST_NS, now + STEP_NS))
        if self._unsure:
            dues.append(self._unsure_until)
        if self._records:
            dues.append(now + RECORD_NS)
        return min(dues, default=None)

    def _hear(self, *, all_of_it: bool) -> None:
        """Write whole blocks; one that is not whole only if nothing follows it."""
        least = 1 if all_of_it else INPUT_BLOCK
        while len(self._waiting) >= least:
            block = self._waiting[:INPUT_BLOCK]
            if not self.lane.mic.put(block, first=self._written, rate=INPUT_RATE):
                return
            if not self._is_muted:  # who mutes a microphone does not want to be kept
                self._recorder.hear(block, self._fed_at - len(self._waiting) * SAMPLE_NS)
            self._written += len(block)
            self._waiting = self._waiting[INPUT_BLOCK:]

    def _follow_hold(self, gate: Gate) -> None:
        """Tell of a voice that came over the answer, or that it was nothing."""
        if self._sounding != gate.answer or self._is_paused == gate.hold:
            return
        self._is_paused = gate.hold
        if gate.hold:
            self._reported = None
            self.on_sound(SoundPaused(gate.answer))
        else:
            self.on_sound(SoundResumed(gate.answer))

    def _send_ahead(self, ahead: Ahead, now: int, gate: Gate) -> None:
        playback = self._playback
        due = playback.due(now) if self._sounding == gate.answer else 0
        with self.lane.voice.read() as batch:
            batch.consume(0)  # a block goes when its time has passed
            pieces = ahead.take(gate, due, batch)
        if pieces and pieces[0].first < due:
            self._was_late(pieces[0], due, now)
        for piece in pieces:
            where = piece.turn, piece.answer, piece.first, piece.position
            self.on_sound(Sound(piece.samples, piece.rate, *where))
        if ahead.is_whole(gate):
            self.on_sound(SoundEnded(gate.answer, ahead.sent))

    def _was_late(self, piece: Piece, due: int, now: int) -> None:
        """Sound goes out behind its time; if it was there before, this program is to blame.

        What waited here cannot have been heard, so the clock goes on from where the sound broke
        off. Where the voice was late, playback sees that for itself.
        """
        dry_since = now - (due - piece.first) * SECOND // piece.rate
        if piece.stamp <= dry_since:
            self._playback.anchor(now, piece.first)
            self.lane.emit(
                Event.UNDERRUN,
                turn=piece.turn,
                answer=piece.answer,
                value=now - dry_since,
                at=dry_since,
            )

    def _started(self, answer: int) -> None:
        self._sounding, self._turn = answer, self.lane.turn
        self._samples = 0
        self._is_paused = False
        self._reported = None

    def _played(self, span: Span) -> None:
        if self._ahead is None:
            where = self._turn, span.answer, self._samples, span.position
            sound = Sound(span.samples, span.rate, *where)
            self._samples += len(span.samples)
            self.on_sound(sound)
        self._recorder.play(span)

    def _ended(self, answer: int) -> None:
        self._sounding = None
        if self.lane.answer != answer:
            self.on_sound(SoundCut(answer))
        elif self._ahead is None:
            self.on_sound(SoundEnded(answer, self._samples))

    def _tell_played(self, played: Played) -> None:
        """Tell how much was heard; of a cut answer, the client knows better than the clock."""
        if self._unsure:
            self._settle()
        is_cut = played.final and self.lane.answer != played.answer
        if self._ahead and self._reports and is_cut and played.answer == self._ahead.answer:
            self._unsure, self._unsure_until = played, self._now() + REPORT_NS
            if self._reported:
                self._settle()
            return
        self.lane.played = played

    def _settle(self) -> None:
        """Tell the last word on a cut answer: what the client said of it, or else the clock."""
        unsure, self._unsure = self._unsure, None
        assert unsure
        if self._reported and self._ahead and self._reported[0] == unsure.answer:
            position = self._ahead.position(self._reported[1])
            unsure = Played(unsure.answer, position, final=True)
        self.lane.played = unsure
