"""The device edge on a sound card in software: a stage to name in `audio.stage`.

Everything but PortAudio is what a person's conversation runs on. Clips that a client plays are said
in the card's room.
"""

import threading
from pathlib import Path

from pydantic import Field

from benchmarks.sound_card import RATE, SECOND, Card, Room, run_card
from pipeline.frozen import Frozen
from stages.audio.clip import load_clip
from stages.audio.device.edge import processor
from stages.audio.device.session import DeviceSession
from stages.audio.microphone import record
from stages.event import Event
from stages.lane import Lane
from stages.messages import CaptionKind, PlayOrder
from stages.stage import Session, Stage
from stages.topology import AUDIO


class CardOptions(Frozen):
    """What the microphone hears of the loudspeaker.

    Attributes:
        echo_db: its level.
        delay_ms: besides the card's own latency.
    """

    echo_db: float = -20.0
    delay_ms: float = Field(120.0, ge=0, le=1000)


class CardAudio(Stage):
    """Serves each lane with a card of its own."""

    name = AUDIO

    def load(self) -> None:
        """Try the canceller."""
        self.options = self.host.options(CardOptions)
        processor(self.config)

    def open(self, lane: Lane) -> Session:
        """A new conversation in a new room."""
        room = Room(self.options.echo_db, self.options.delay_ms / 1000)
        card = Card(room, self.host.now)
        card.keeps = False
        return CardSession(lane, self.host.now, self.config, card, processor)


class CardSession(DeviceSession):
    """A conversation in which clips can be said."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._card: Card = arguments[3]  # type: ignore[assignment]
        self._end = 0  # of the clip that is being said, monotonic ns
        self._stop = threading.Event()
        self._thread = threading.Thread(target=run_card, args=(self._card, self._stop), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Also the card."""
        self._stop.set()
        self._thread.join()
        super().close()

    def _take_commands(self, now: int) -> None:
        """Orders are clips here."""
        if self._end and now >= self._end:
            self._end = 0
            self.lane.caption(CaptionKind.CLIP, turn=self.lane.turn)
        if self._end:
            return
        for order in map(PlayOrder.unpack, self.lane.orders.read()):
            clip = record(load_clip(Path(order.clip)), order.speech_end_s)
            start = self._card.say(clip.samples)
            self._end = start + len(clip.samples) * SECOND // RATE
            self.lane.emit(Event.CLIP_START, at=start)
            if clip.speech_end is not None:
                end = start + clip.speech_end * SECOND // RATE
                self.lane.emit(Event.SPEECH_END, value=start, at=end)
