"""A lane with the transcriber on it, a recogniser that says its lines, and neighbours."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from pipeline.config import AsrConfig
from ringbuf import EventRecord, Kind, Mark
from stages.asr.backchannels import Backchannels
from stages.asr.bridge import ByteBridge
from stages.asr.recogniser import Decoding, Samples
from stages.asr.transcriber import Transcriber
from stages.asr.transcript import Transcript, split_words
from stages.lane import Lane
from stages.messages import Words

WINDOW = 512
EAGER = {"first_ms": 200, "step_ms": 50}  # a block of 32 ms is nearly a step


@dataclass
class Ear:
    """A recogniser that says its lines, one a decode, and keeps what it was given.

    Attributes:
        log: what it was asked, "final" or "partial", and "given up".
        wait_ns: a decode takes so long, during which it is not to be resumed.
    """

    lines: list[str | Transcript | Exception]
    now: Callable[[], int]
    streams: bool = False
    wait_ns: int = 0
    given: list[list[int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    _sound: list[int] = field(default_factory=list)

    def clear(self) -> None:
        self._sound.clear()

    def hear(self, samples: Samples) -> None:
        self._sound += samples[::WINDOW].tolist()

    def settle(self) -> None:
        self.log.append("settle")

    def decode(self, *, final: bool) -> Decoding:
        self.given.append(list(self._sound))
        self.log.append("final" if final else "partial")
        return self._decoding(self.now() + self.wait_ns)

    def _decoding(self, due: int) -> Decoding:
        try:
            yield due if self.wait_ns else 0
            yield 0
        except GeneratorExit:
            self.log.append("given up")
            raise
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Transcript) else Transcript(split_words(line))


class Room:
    """A lane with `asr` on it, and its neighbours played by the test."""

    def __init__(
        self,
        make_lane: Callable[[str], Lane],
        *lines: str | Transcript | Exception,
        delay_ms: int = 0,
        streams: bool = False,
        **config: object,
    ) -> None:
        self.turn, self.llm, self.control = map(make_lane, ("turn", "llm", "control"))
        self.now = 1_000
        self.ear = Ear(list(lines), lambda: self.now, streams, delay_ms * 1_000_000)
        self.asr = make_lane("asr")
        self.session = Transcriber(
            self.asr,
            self.ear,
            ByteBridge(),
            AsrConfig(**config),
            lambda: self.now,
            Backchannels(["uh-huh", "okay"], ["stop"], unsure_below=-0.95),
        )
        self.first = 0

    def say(
        self,
        *values: int,
        turn: int = 1,
        answer: int = 1,
        mark: Mark = Mark.NONE,
        rate: int = 16000,
    ) -> None:
        """Blocks of one value each; the first has the mark."""
        self.turn.turn = turn
        for index, value in enumerate(values):
            block = np.full(WINDOW, value, np.int16)
            place = {"first": self.first, "rate": rate, "turn": turn, "answer": answer}
            assert self.turn.speech.put(block, mark=Mark.NONE if index else mark, **place)
            self.first += WINDOW

    def mark(self, mark: Mark, turn: int = 1, answer: int = 1) -> None:
        nothing = np.empty(0, np.int16)
        self.turn.speech.put(
            nothing, first=self.first, rate=16000, turn=turn, answer=answer, mark=mark
        )

    def step(self) -> None:
        """As the runner does: again while the session asks for it at once."""
        self.session.due = 0
        for _ in range(20):
            if self.session.due is None or self.session.due > self.now:
                return
            try:
                self.session.step()
                if self.session.waiting_since is not None:
                    self.session.go_on()
            except Exception as error:
                self.session.fail(error)
        pytest.fail("the session spins")

    def heard(self) -> list[tuple[str, int, int, int]]:
        """(text or kind, position, turn, answer) of all runs."""
        with self.llm.heard.read() as batch:
            return [
                (
                    bytes(run.ids.astype(np.uint8)).decode()
                    if run.kind is Kind.ID
                    else run.kind.name,
                    run.position,
                    run.turn,
                    run.answer,
                )
                for run in batch.runs()
            ]

    def events(self) -> list[EventRecord]:
        return self.asr._events.take()

    def words(self) -> list[Words]:
        return [Words.unpack(message) for message in self.turn.words.read()]

    def values(self) -> list[list[int]]:
        """What the recogniser was given, a value a block."""
        return self.ear.given
