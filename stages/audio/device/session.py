"""One conversation on the sound devices."""

from collections import deque
from collections.abc import Callable

import numpy as np

from pipeline.config import AudioConfig
from pipeline.errors import AudioError
from stages.audio.device.devices import Side
from stages.audio.device.drift import Drift, dbfs
from stages.audio.device.echo import Processor
from stages.audio.device.hearing import Heard, Hearing
from stages.audio.device.playout import Playout
from stages.audio.device.resampler import VoiceResampler
from stages.audio.device.sound_devices import SoundDevices
from stages.audio.device.speaker import Speaker
from stages.audio.loudspeaker import Loudspeaker
from stages.audio.microphone import SAMPLE_NS
from stages.audio.playback import Span
from stages.audio.recorder import Recorder
from stages.lane import Lane
from stages.messages import CaptionKind, Command, CommandAt, DeviceState, Levels
from stages.stage import Session
from stages.topology import INPUT_BLOCK, INPUT_RATE

BLOCK_NS = INPUT_BLOCK * SAMPLE_NS
PLAYING_NS = 20_000_000  # between two steps while a voice is with the device
SOON_NS = 4_000_000
RESTING_BLOCKS = 3  # while nobody speaks so many come at once: each time costs more than the sound
LATE_NS = 10_000_000  # between two looks for a block that should have come
RETRY_NS = 1_000_000_000  # between two looks for a device that is gone
TAIL_NS = 250_000_000  # in which a room is silent again
JITTER_NS = 60_000_000  # of the microphone's times in a recording
AT_ONCE = (Command.CANCEL, Command.LOCK, Command.UNLOCK)


class DeviceSession(Session):
    """One lane.

    Args:
        lane: the lane.
        now: the clock, monotonic ns.
        config: devices, and what is done against echo.
        devices: not opened yet.
        processor: makes what improves the microphone, for each opening; None: nothing does.

    Raises:
        AudioError: the devices cannot be opened. A conversation that goes on after this program
            died waits for them instead.
    """

    def __init__(
        self,
        lane: Lane,
        now: Callable[[], int],
        config: AudioConfig,
        devices: SoundDevices,
        processor: Callable[[AudioConfig], Processor | None],
    ) -> None:
        super().__init__(lane)
        self.is_running = True
        self.due = 0
        self._now = now
        self._config = config
        self._devices = devices
        self._processor = processor
        self._speaker = Speaker()
        self._playout = Playout(self._speaker, VoiceResampler, lane.answer)
        self._loudspeaker = Loudspeaker(lane, on_span=self._play, playback=self._playout)
        self._recorder = Recorder(lane, config.record, now(), jitter_ns=JITTER_NS)
        self._hearing: Hearing | None = None
        self._drift = Drift()
        self._corrections = 0  # of devices that were closed
        self._commands: deque[CommandAt] = deque()
        self._written = 0  # samples of the microphone, since the lane was opened
        self._until = 0  # monotonic ns behind the last one
        self._lost = 0  # samples that found no room since the last block that did
        self._missed = 0  # samples that these devices brought while nobody took them
        self._is_muted = False
        self._voice = _Voice()
        self._levels = self._shown = Levels()
        self._state = DeviceState()
        self._gone = "the sound device"
        self._retry_at = 0
        self._latency_ns = 0
        try:
            self._open()
        except AudioError:
            if not lane.is_reopened:
                raise
            self._wait_for_devices(now())

    def step(self) -> None:
        """Follow commands and the devices, then hear and speak what is due."""
        now = self._now()
        self.due = now + PLAYING_NS  # should one of these raise
        self._take_commands(now)
        self._follow_devices(now)
        self._follow_stream()
        # Speak first: a voice that is held or stale is to be silent as soon as possible.
        again = self._loudspeaker.step(now)
        self._voice.follow(
            now, self._speaker, self._latency_ns, is_speaking=self._playout.is_speaking
        )
        self._hear()
        self._pass_commands()
        self._recorder.step(now)
        self._tell(now)
        self.due = 0 if again else self._next_step(now)

    def fail(self, error: Exception) -> None:
        """Say nothing more of this answer."""
        self._loudspeaker.give_up()

    def close(self) -> None:
        """Let go of the devices, and keep what was heard so far."""
        self.is_running = False
        self._speaker.detach(self._now())
        self._devices.close()
        self._recorder.close()
        self.lane.levels = Levels()
        self.lane.device = DeviceState()

    def _open(self, *, look_again: bool = False) -> None:
        """Open and start both devices."""
        devices = self._devices
        devices.open(look_again=look_again)
        stream, way = devices.stream(Side.OUTPUT)
        self._speaker.attach(stream, way)
        source = devices.stream(Side.INPUT)[1].format
        playhead = self._speaker.clock if self._config.echo == "cancel" else None
        self._speaker.keeps = playhead is not None
        hearing = Hearing(source, self._processor(self._config), playhead, self._drift)
        try:
            devices.start(self._now())
        except AudioError:
            self._speaker.detach(self._now())
            raise
        self._hearing = hearing

    def _take_commands(self, now: int) -> None:
        """What the program asks: at once, or behind what has been said by now."""
        for message in self.lane.orders.read():
            command = Command.unpack(message)
            behind = max(0, now - self._until) // SAMPLE_NS if self._devices.is_open else 0
            sample = 0 if command in AT_ONCE else self._written + behind
            self._commands.append(CommandAt(command, sample))
            if command in (Command.MUTE, Command.UNMUTE):
                self._is_muted = command is Command.MUTE

    def _pass_commands(self) -> None:
        while self._commands and self.lane.commands.put(self._commands[0].pack()):
            self._commands.popleft()

    def _follow_devices(self, now: int) -> None:
        """Notice a device that has gone, and look for it until it is back."""
        devices = self._devices
        if devices.is_open:
            if (side := devices.lost(now)) is not None:
                self._gone = devices.both if devices.is_one else devices.name(side)
                self._close_devices(now)
                self._notify(f"{self._gone} is gone; waiting for it", is_open=False)
                self._retry_at = now + RETRY_NS
        elif now >= self._retry_at:
            self._try_again()
            self._retry_at = self._now() + RETRY_NS

    def _try_again(self) -> None:
        before = self._devices.both
        try:
            self._open(look_again=True)
        except AudioError:
            return
        now = self._devices.both
        told = f"{self._gone} is back" if now == before else f"going on with {now}"
        self._notify(told, is_open=True)

    def _wait_for_devices(self, now: int) -> None:
        self._retry_at = now + RETRY_NS
        self._notify(f"{self._gone} cannot be opened; waiting for it", is_open=False)

    def _close_devices(self, now: int) -> None:
        self._speaker.detach(now)
        self._devices.close()
        if self._hearing:
            self._corrections += self._hearing.pairing.corrections
        self._hearing = None
        self._missed = 0

    def _notify(self, text: str, *, is_open: bool) -> None:
        self._tell(self._now())  # whoever is told may look at once
        self.lane.caption(CaptionKind.DEVICE, position=int(is_open), text=text)

    def _follow_stream(self) -> None:
        """What the devices did since the last step."""
        devices, hearing = self._devices, self._hearing
        if hearing is None:
            return
        ends = devices.stream(Side.INPUT)[0], devices.stream(Side.OUTPUT)[0]
        for stream in dict.fromkeys(ends):
            for stamp in stream.stamps():
                if stream is ends[0]:
                    hearing.stamp(stamp)
                if stream is ends[1]:
                    self._speaker.take(stamp)
                    if hearing.wants_played:
                        hearing.played(self._speaker.given(stamp))
                    self._latency_ns = stamp.played_at - stamp.at

    def _hear(self) -> None:
        """Write the blocks that are whole; where there is no room one is lost."""
        if self._hearing is None:
            return
        self._hearing.disturbed(self._devices.xruns)
        stream, way = self._devices.stream(Side.INPUT)
        self._count_missed(stream.port.lost * INPUT_RATE // way.format.rate)
        frames = stream.port.take()
        for block in self._hearing.blocks(frames, self._written):
            self._write(block)

    def _count_missed(self, samples: int) -> None:
        """The device has brought so many that found no room: this program was away for too long."""
        if samples != self._missed:
            self.lane.mic.count_lost(samples - self._missed)
            self._missed = samples

    def _write(self, block: Heard) -> None:
        samples = block.samples
        if self._until and block.at - self._until > RETRY_NS // 2:  # the device was away
            self._written += (block.at - self._until) // SAMPLE_NS
            self._drift.restart()
        until = block.at + BLOCK_NS
        if self._config.echo == "half-duplex" and self._voice.covers(block.at, until):
            samples = np.zeros_like(samples)
        first, self._until = self._written, until
        self._written += INPUT_BLOCK
        if self.lane.mic.put(samples, first=first, rate=INPUT_RATE, lost=self._lost, stamp=until):
            self._lost = 0
            if not self._is_muted:  # who mutes a microphone does not want to be kept
                self._recorder.hear(samples, block.at)
        else:
            self._lost += INPUT_BLOCK
            self.lane.mic.count_lost(INPUT_BLOCK)
        self._levels = Levels(block.level, self._levels.loudspeaker)

    def _play(self, span: Span) -> None:
        self._voice.level = dbfs(span.samples)
        self._voice.level_until = span.at + len(span.samples) * 1_000_000_000 // span.rate
        self._recorder.play(span)

    def _tell(self, now: int) -> None:
        """Set the words that show how loud it is and how the devices do."""
        is_loud = now < self._voice.level_until + 2 * PLAYING_NS
        microphone = self._levels.microphone if self._devices.is_open else Levels.SILENT
        levels = Levels(microphone, self._voice.level if is_loud else Levels.SILENT)
        if levels != self._shown:
            self.lane.levels = self._shown = self._levels = levels
        hearing = self._hearing
        self._state, before = self._read_state(hearing), self._state
        if self._state != before:
            self.lane.device = self._state

    def _read_state(self, hearing: Hearing | None) -> DeviceState:
        return DeviceState(
            self._devices.is_open,
            self._devices.xruns,
            self._corrections
            + self._drift.corrections
            + (hearing.pairing.corrections if hearing else 0),
            round(hearing.loss.db, 1) if hearing else 0.0,
            round(self._latency_ns / 1e6),
        )

    @property
    def _is_resting(self) -> bool:
        """Whether nobody speaks; the word that a turn has begun wakes this stage."""
        lane = self.lane
        return lane.turn == lane.ended and not self._playout.is_speaking

    def _next_step(self, now: int) -> int:
        """When the next block is whole; sooner while a voice is with the device."""
        if self._hearing is None:
            return min(self._retry_at, now + RETRY_NS)
        if self._playout.is_flushing:
            return now + SOON_NS
        due = self._hearing.due(RESTING_BLOCKS if self._is_resting else 1)
        if due <= now:  # it is late
            due = now + LATE_NS
        return min(due, now + PLAYING_NS) if self._playout.is_playing else due


class _Voice:
    """When the loudspeaker was heard last.

    Attributes:
        since, until: monotonic ns; of an answer that is heard, `until` moves on; where it ends
            early, back.
        level: dBFS of what was heard last, until `level_until`.
    """

    def __init__(self) -> None:
        self.since = self.until = 0
        self.level, self.level_until = Levels.SILENT, 0

    def follow(self, now: int, speaker: Speaker, latency_ns: int, *, is_speaking: bool) -> None:
        if not is_speaking:  # of what was written ahead only what the device has taken still sounds
            self.until = min(self.until, now + latency_ns)
            return
        if now > self.until + TAIL_NS:
            self.since = now
        ahead = speaker.time(speaker.written) if speaker.is_open else now
        self.until = max(now, self.until, ahead)

    def covers(self, start: int, end: int) -> bool:
        """Whether its echo may be in what was heard between these instants."""
        return end > self.since and start < self.until + TAIL_NS
