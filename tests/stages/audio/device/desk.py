"""One lane whose edge is a sound card in software, on a clock that the test moves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from benchmarks.sound_card import Card, Room
from pipeline.config import AudioConfig
from stages.audio.device.echo import Processor
from stages.audio.device.session import DeviceSession
from stages.lane import Lane
from stages.messages import Command, End, Status
from tests.lanes import open_lanes

MS = 1_000_000
START = 1_000_000_000_000


class Desk:
    def __init__(
        self,
        lanes: Callable[[str], Lane],
        config: AudioConfig,
        card: Callable[[Callable[[], int]], Card],
        processor: Callable[[AudioConfig], Processor | None],
    ) -> None:
        self.now = START
        self.lane, self.turn, self.tts = lanes("audio"), lanes("turn"), lanes("tts")
        self.control = lanes("control")
        self.card = card(lambda: self.now)
        self.heard: list[NDArray[np.int16]] = []
        self.firsts: list[int] = []
        self.stamps: list[int] = []
        self.arrived: list[int] = []  # when each block could be read
        self.session = DeviceSession(
            self.lane,
            lambda: self.now,
            config,
            self.card,  # type: ignore[arg-type]
            processor,
        )

    def run(self, ms: int) -> None:
        """Let time pass: the card calls, the session steps."""
        end = self.now + ms * MS
        while True:
            due = self.session.due if self.session.due is not None else end + 1
            card = self.card.due if self.card.is_active else end + 1
            at = max(self.now, min(due, card))
            if at > end:
                break
            self.now = at
            if card <= due:
                self.card.call()
            else:
                self.session.step()
            self._listen()
        self.now = end

    def _listen(self) -> None:
        with self.turn.mic.read() as batch:
            for block in batch:
                self.heard.append(np.array(block.samples))
                self.firsts.append(block.first)
                self.stamps.append(block.stamp)
                self.arrived.append(self.now)

    def speak(self, answer: int, samples: NDArray[np.int16], rate: int, block: int = 480) -> None:
        """A whole answer, an id a block; it may be heard at once."""
        self.turn.answer = answer
        self.write(answer, samples, rate, block)
        self.turn.released = answer

    def write(self, answer: int, samples: NDArray[np.int16], rate: int, block: int = 480) -> None:
        blocks = [samples[at : at + block] for at in range(0, len(samples), block)]
        for count, part in enumerate(blocks, 1):
            first = (count - 1) * block
            assert self.tts.voice.put(part, first=first, rate=rate, answer=answer, position=count)
        self.tts.voice_end = End(answer, len(blocks), Status.OK)

    def order(self, command: Command) -> None:
        assert self.control.orders.put(command.pack())

    @property
    def played(self) -> NDArray[np.float32]:
        """All that the card has played."""
        return np.concatenate(self.card.log)


@contextmanager
def open_desk(
    room: Room | None = None,
    processor: Callable[[AudioConfig], Processor | None] = lambda config: None,
    ppm: float = 0.0,
    output_ms: int = 20,
    **settings: object,
) -> Iterator[Desk]:
    config = AudioConfig.model_validate({"stage": "device", **settings})

    def card(now: Callable[[], int]) -> Card:
        return Card(room or Room(), now, ppm=ppm, output_ns=output_ms * MS)

    with open_lanes() as lanes:
        desk = Desk(lanes, config, card, processor)
        yield desk
        desk.session.close()
