"""The edge behind `voxring replay`: clips in at real-time pace, answers out as WAV files."""

from collections import deque
from collections.abc import Callable
from pathlib import Path

from pipeline.errors import VoxringError
from stages.audio.clip import load_clip
from stages.audio.level import block_dbfs
from stages.audio.loudspeaker import Loudspeaker
from stages.audio.microphone import SAMPLE_NS, Microphone, Recording, record
from stages.audio.playback import Span
from stages.audio.recorder import Recorder
from stages.audio.wav_sink import WavSink
from stages.event import Event
from stages.lane import Lane
from stages.messages import CaptionKind, Command, CommandAt, Levels, PlayOrder
from stages.stage import Session, Stage
from stages.topology import AUDIO, INPUT_BLOCK, INPUT_RATE

BLOCK_NS = INPUT_BLOCK * SAMPLE_NS


class FileAudio(Stage):
    """Serves every lane a microphone and a loudspeaker made of files."""

    name = AUDIO

    def open(self, lane: Lane) -> Session:
        """A new conversation: its microphone is on from now."""
        return FileSession(lane, self.host.now, self.config.record)


class FileSession(Session):
    """One lane.

    A block of the microphone is written when its last sample is due, as a device would; the first
    sample of the lane is due at the instant it was opened. Blocks that are late are written in one
    step, so that nothing drifts.

    Args:
        now: the clock, monotonic ns.
        record: folder for a recording of both sides; "": there is none.
    """

    def __init__(self, lane: Lane, now: Callable[[], int], record: str = "") -> None:
        super().__init__(lane)
        self._now = now
        self._opened = now()
        self._recorder = Recorder(lane, record, self._opened)
        self._microphone = Microphone()
        self._lost = 0  # samples that found no room since the last block that did
        self._is_muted = False
        self._voice_dbfs = Levels.SILENT
        self._orders: deque[PlayOrder] = deque()
        self._sinks: dict[int, WavSink] = {}  # by answer
        self._sink: WavSink | None = None  # of the newest clip
        self._loudspeaker = Loudspeaker(
            lane, on_start=self._begin_answer, on_span=self._keep, on_end=self._write_answer
        )
        self.due = self._opened + BLOCK_NS
        lane.emit(Event.OPENED, at=self._opened)

    def step(self) -> None:
        """Follow orders, then hear and speak what is due."""
        now = self._now()
        self.due = now + BLOCK_NS  # should one of these raise
        self._take_orders()
        self._hear(now)
        # NOTE: a new reading: what was just heard may have opened the gate, and not before it was.
        again = self._loudspeaker.step(self._now())
        self._recorder.step(now)
        self.due = 0 if again else self._time(self._microphone.heard + INPUT_BLOCK)

    def fail(self, error: Exception) -> None:
        """Say nothing more of this answer and go back to room tone."""
        if self._microphone.is_playing:
            self._microphone.stop()
            self.lane.caption(CaptionKind.CLIP, text=str(error))
        self._write_answers()
        self._loudspeaker.give_up()

    def close(self) -> None:
        """Keep what was heard so far."""
        self._write_answers()
        self._recorder.close()

    def _time(self, sample: int) -> int:
        """When a sample of the microphone begins, in monotonic ns."""
        return self._opened + sample * SAMPLE_NS

    def _take_orders(self) -> None:
        for message in self.lane.orders.read():
            if PlayOrder.is_one(message):
                self._orders.append(PlayOrder.unpack(message))
            else:
                self._pass_on(Command.unpack(message))
        while self._orders and not self._microphone.is_playing:
            self._begin(self._orders.popleft())

    def _pass_on(self, command: Command) -> None:
        """To `turn`, for the sound from here on; one that finds no room is told."""
        if not self.lane.commands.put(CommandAt(command, self._microphone.heard).pack()):
            text = f"too many commands are waiting: {command.name.lower()} was dropped"
            self.lane.caption(CaptionKind.ERROR, turn=self.lane.turn, text=text)
        elif command in (Command.MUTE, Command.UNMUTE):
            self._is_muted = command is Command.MUTE

    def _begin(self, order: PlayOrder) -> None:
        """Start a clip with the next block; a bad one is told to the client."""
        try:
            recording = record(load_clip(Path(order.clip)), order.speech_end_s)
        except VoxringError as error:
            self.lane.caption(CaptionKind.CLIP, text=str(error))
            return
        self._sink = WavSink(Path(order.out)) if order.out else None
        self._microphone.play(recording)
        self._announce(recording)

    def _announce(self, recording: Recording) -> None:
        """Both times are known now; a turn that ends too early needs the second before it comes."""
        first = self._microphone.heard
        start = self._time(first)
        self.lane.emit(Event.CLIP_START, at=start)
        if recording.speech_end is not None:
            end = self._time(first + recording.speech_end)
            self.lane.emit(Event.SPEECH_END, value=start, at=end)

    def _hear(self, now: int) -> None:
        """Write the blocks whose last sample is due."""
        while self._time(self._microphone.heard + INPUT_BLOCK) <= now:
            was_playing = self._microphone.is_playing
            self._write_block()
            if was_playing and not self._microphone.is_playing:
                self.lane.caption(CaptionKind.CLIP, turn=self.lane.turn)

    def _write_block(self) -> None:
        """Write one block; where there is no room it is lost, as with any microphone."""
        first = self._microphone.heard
        block = self._microphone.take()
        self.lane.levels = Levels(block_dbfs(block), self._voice_dbfs)
        self._voice_dbfs = Levels.SILENT
        if self.lane.mic.put(block, first=first, rate=INPUT_RATE, lost=self._lost):
            self._lost = 0
            if not self._is_muted:  # who mutes a microphone does not want to be kept
                self._recorder.hear(block, self._time(first))
        else:
            self._lost += INPUT_BLOCK
            self.lane.mic.count_lost(INPUT_BLOCK)

    def _begin_answer(self, answer: int) -> None:
        """It belongs to the clip of this instant, also if it ends during the next."""
        if self._sink is not None:
            self._sinks[answer] = self._sink

    def _keep(self, span: Span) -> None:
        if (sink := self._sinks.get(span.answer)) is not None:
            sink.add(span.samples, span.rate, span.pause_ns)
        self._recorder.play(span)
        self._voice_dbfs = block_dbfs(span.samples)

    def _write_answer(self, answer: int) -> None:
        """Write what was heard; an error of the disk does not end the conversation."""
        if (sink := self._sinks.pop(answer, None)) is None:
            return
        try:
            sink.write()
        except VoxringError as error:
            self.lane.caption(CaptionKind.ERROR, turn=self.lane.turn, text=str(error))

    def _write_answers(self) -> None:
        for answer in list(self._sinks):
            self._write_answer(answer)
