"""The edge of a program that brings its own sound: memory in, memory out."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from stages.audio.loudspeaker import Loudspeaker
from stages.audio.microphone import SAMPLE_NS
from stages.audio.playback import Span
from stages.audio.recorder import Recorder
from stages.lane import Lane
from stages.messages import Command, CommandAt
from stages.stage import Session, Stage
from stages.topology import AUDIO, INPUT_BLOCK, INPUT_RATE

SoundSink = Callable[[NDArray[np.int16], int], None]
STEP_NS = 20_000_000  # between two looks at the clock while a voice may play
BLOCK_NS = INPUT_BLOCK * SAMPLE_NS
LEAD = INPUT_RATE  # samples that may wait for room before the caller is told to
JITTER_NS = 250_000_000  # a microphone that is silent for longer has paused


class ClientAudio(Stage):
    """Serves lanes that live in the calling program."""

    name = AUDIO

    def open(self, lane: Lane) -> "ClientSession":
        """A new conversation."""
        return ClientSession(lane, self.host.now, self.config.record)


class ClientSession(Session):
    """One lane.

    Args:
        now: the clock, monotonic ns.
        record: folder for a recording of both sides; "": there is none.

    Attributes:
        on_sound: gets int16 samples and their rate at the instant they are to be heard.
    """

    def __init__(self, lane: Lane, now: Callable[[], int], record: str = "") -> None:
        super().__init__(lane)
        self.on_sound: SoundSink = lambda samples, rate: None
        self._now = now
        self._waiting = np.empty(0, np.int16)
        self._written = 0  # samples, since the lane was opened
        self._fed_at = 0  # monotonic ns
        self._is_muted = False
        self._recorder = Recorder(lane, record, now(), jitter_ns=JITTER_NS)
        self._loudspeaker = Loudspeaker(lane, on_span=self._played)

    @property
    def is_behind(self) -> bool:
        """Whether more than LEAD samples wait for room."""
        return len(self._waiting) > LEAD

    def feed(self, samples: NDArray[np.int16]) -> None:
        """Add to the microphone, int16 [n], 16 kHz mono."""
        self._waiting = np.concatenate((self._waiting, samples))
        self._fed_at = self._now()

    def command(self, command: Command) -> None:
        """Ask something of `turn`, once it has heard what was fed until now.

        Raises:
            AudioError: it does not follow what was asked before.
        """
        self._hear(all_of_it=True)
        message = CommandAt(command, self._written + len(self._waiting)).pack()
        if not self.lane.commands.put(message):
            raise AudioError("too many commands are waiting", "Wait for what was asked before")
        if command in (Command.MUTE, Command.UNMUTE):
            self._is_muted = command is Command.MUTE

    def step(self) -> None:
        """Pass on what was fed, play what is due."""
        now = self._now()
        self.due = now + STEP_NS
        self._hear(all_of_it=now >= self._fed_at + BLOCK_NS)
        if self._loudspeaker.step(now):
            self.due = 0
        self._recorder.step(now)

    def fail(self, error: Exception) -> None:
        """Say nothing more of this answer."""
        self._loudspeaker.give_up()

    def close(self) -> None:
        """Keep what was heard so far."""
        self._recorder.close()

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

    def _played(self, span: Span) -> None:
        self.on_sound(span.samples, span.rate)
        self._recorder.play(span)
