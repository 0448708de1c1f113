"""The edge of a program that brings its own sound: memory in, memory out."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from stages.audio.loudspeaker import Loudspeaker
from stages.audio.playback import Span
from stages.lane import Lane
from stages.messages import Command, CommandAt
from stages.stage import Session, Stage
from stages.topology import AUDIO, INPUT_BLOCK, INPUT_RATE

SoundSink = Callable[[NDArray[np.int16], int], None]
STEP_NS = 20_000_000  # between two looks at the clock while a voice may play
BLOCK_NS = INPUT_BLOCK * 1_000_000_000 // INPUT_RATE
LEAD = INPUT_RATE  # samples that may wait for room before the caller is told to


class ClientAudio(Stage):
    """Serves lanes that live in the calling program."""

    name = AUDIO

    def open(self, lane: Lane) -> "ClientSession":
        """A new conversation."""
        return ClientSession(lane, self.host.now)


class ClientSession(Session):
    """One lane.

    Args:
        now: the clock, monotonic ns.

    Attributes:
        on_sound: gets int16 samples and their rate at the instant they are to be heard.
    """

    def __init__(self, lane: Lane, now: Callable[[], int]) -> None:
        super().__init__(lane)
        self.on_sound: SoundSink = lambda samples, rate: None
        self._now = now
        self._waiting = np.empty(0, np.int16)
        self._written = 0  # samples, since the lane was opened
        self._fed_at = 0  # monotonic ns
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

    def step(self) -> None:
        """Pass on what was fed, play what is due."""
        now = self._now()
        self.due = now + STEP_NS
        self._hear(all_of_it=now >= self._fed_at + BLOCK_NS)
        if self._loudspeaker.step(now):
            self.due = 0

    def fail(self, error: Exception) -> None:
        """Say nothing more of this answer."""
        self._loudspeaker.give_up()

    def _hear(self, *, all_of_it: bool) -> None:
        """Write whole blocks; one that is not whole only if nothing follows it."""
        least = 1 if all_of_it else INPUT_BLOCK
        while len(self._waiting) >= least:
            block = self._waiting[:INPUT_BLOCK]
            if not self.lane.mic.put(block, first=self._written, rate=INPUT_RATE):
                return
            self._written += len(block)
            self._waiting = self._waiting[INPUT_BLOCK:]

    def _played(self, span: Span) -> None:
        self.on_sound(span.samples, span.rate)
