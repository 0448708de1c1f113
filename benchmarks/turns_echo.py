"""A loudspeaker that the microphone hears: does the pipeline talk to itself?"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import soundfile
from numpy.typing import NDArray

from benchmarks.result import Figure
from benchmarks.turns_clips import Said
from benchmarks.turns_talk import began
from pipeline.client_lane import ClientLane
from pipeline.config import Config
from pipeline.events import Sound, TurnEnded
from pipeline.pipeline import Pipeline
from stages.audio.convert import Converter, Format
from stages.audio.level import amplitude
from stages.audio.room_tone import RoomTone
from stages.outcome import Outcome
from stages.topology import INPUT_BLOCK, INPUT_RATE

Samples = NDArray[np.int16]

ECHO_DB = -20.0
DELAY_S = 0.12
JITTER_S = 0.06  # between two pieces of one answer
LANES = 2  # conversations at once
PATIENCE_S = 15.0  # beyond the time of the answers, in all
SLACK_NS = 300_000_000  # behind a question, in which its turn may begin anew
REST_S = 1.0  # between an answer and the next question
MODES = ("off", "words")
SETTINGS = (
    'audio.stage="client"',
    "llm.max_new_tokens=60",
    "llm.system=You tell long stories. Answer with a story of many long sentences.",
)


@dataclass
class Room:
    """What the microphone of one conversation hears: a question, the room, and the loudspeaker.

    Attributes:
        heard: samples so far.
        echoed: samples of answers that sounded, at 16 kHz.
    """

    heard: int = 0
    echoed: int = 0
    _tone: RoomTone = field(default_factory=RoomTone)
    _waiting: Samples = field(default_factory=lambda: np.zeros(0, np.int16))  # from `heard` on
    _behind: int = 0  # the sample behind the last one of an answer

    def add(self, samples: Samples) -> None:
        """The loudspeaker plays this now, int16 [n] at 16 kHz."""
        echo = samples.astype(np.float32) * np.float32(amplitude(ECHO_DB))
        due = self.heard + round(DELAY_S * INPUT_RATE)
        is_next = abs(self._behind - due) <= round(JITTER_S * INPUT_RATE)
        start = self._behind if is_next else due  # lateness of this program does not add up
        self._mix(start, echo.astype(np.int16))
        self._behind = start + len(samples)
        self.echoed += len(samples)

    def say(self, samples: Samples) -> None:
        """Somebody speaks from now on, int16 [n] at 16 kHz."""
        self._mix(self.heard, samples)

    def take(self) -> Samples:
        """The next block, int16 [512]."""
        block = self._tone.take(INPUT_BLOCK)
        now, self._waiting = self._waiting[:INPUT_BLOCK], self._waiting[INPUT_BLOCK:]
        block[: len(now)] += now
        self.heard += INPUT_BLOCK
        return block

    def _mix(self, start: int, samples: Samples) -> None:
        first = start - self.heard
        missing = first + len(samples) - len(self._waiting)
        if missing > 0:
            self._waiting = np.concatenate((self._waiting, np.zeros(missing, np.int16)))
        self._waiting[first : first + len(samples)] += samples


@dataclass
class Echo:
    """What came of one conversation.

    Attributes:
        seconds: of answers that sounded.
        asked: monotonic ns of each question.
        begun: the same of each turn.
        interrupted: answers that ended because of a voice, which can only be their own.
    """

    question_ns: int
    seconds: float = 0.0
    asked: list[int] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    interrupted: int = 0

    @property
    def self_turns(self) -> int:
        """Turns that began while nobody asked anything."""
        lasting = self.question_ns + SLACK_NS
        return sum(not any(at <= began < at + lasting for at in self.asked) for began in self.begun)


async def measure(
    config: Callable[..., Config],
    pipeline: Callable[[Config], Pipeline],
    question: Said,
    seconds: float,
    tell: Callable[[str], None],
) -> dict[str, Figure]:
    """Ask, and let the microphone hear the answers, in two conversations at once.

    Args:
        config: made with more settings.
        seconds: of answers, in each conversation.

    Raises:
        VoxringError: the pipeline fails.
    """
    found: dict[str, Figure] = {}
    for mode in MODES:
        async with pipeline(config(*SETTINGS, f"turn.barge_in={mode}")) as running:
            tell(f"answers in the microphone, barge_in = {mode}")
            echoes = await asyncio.gather(
                *(converse(running, question, seconds) for _ in range(LANES))
            )
        found |= figures(echoes, mode)
    return found


def figures(echoes: list[Echo], mode: str) -> dict[str, Figure]:
    """All metrics of one mode; those of the first stand for the whole."""
    part = "" if mode == MODES[0] else f".{mode}"
    return {
        f"self_interruptions{part}": sum(echo.interrupted for echo in echoes),
        f"self_turns{part}": sum(echo.self_turns for echo in echoes),
        f"echo_s{part}": sum(echo.seconds for echo in echoes),
    }


async def converse(pipeline: Pipeline, question: Said, seconds: float) -> Echo:
    """Ask whenever nothing is heard, until so much of answers was.

    Raises:
        VoxringError: the pipeline fails.
    """
    words, _ = soundfile.read(question.path, dtype="int16")
    room, echo = Room(), Echo(len(words) * 1_000_000_000 // INPUT_RATE)
    async with await pipeline.open() as lane:
        listening = asyncio.create_task(listen(lane, room, echo))
        try:
            await _ask(lane, room, echo, words, seconds)
        finally:
            listening.cancel()
    echo.seconds = room.echoed / INPUT_RATE
    return echo


async def _ask(lane: ClientLane, room: Room, echo: Echo, words: Samples, seconds: float) -> None:
    """Feed the microphone in real time."""
    start = time.monotonic()
    quiet_since = start
    while room.echoed < seconds * INPUT_RATE:
        elapsed = room.heard / INPUT_RATE
        if elapsed > 2 * seconds + PATIENCE_S:
            break
        if lane.turns_ended < lane.turns_begun:
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since > REST_S + len(words) / INPUT_RATE * bool(echo.asked):
            quiet_since = time.monotonic()
            echo.asked.append(time.monotonic_ns())
            room.say(words)
        await lane.feed(room.take())
        await asyncio.sleep(max(0.0, start + room.heard / INPUT_RATE - time.monotonic()))


async def listen(lane: ClientLane, room: Room, echo: Echo) -> None:
    """Let the room hear what is played."""
    converter: Converter | None = None
    async for event in lane:
        match event:
            case Sound(samples, rate):
                converter = converter or Converter(Format(rate))
                room.add(converter.feed(samples.astype("<i2").tobytes()))
            case TurnEnded(timeline):
                echo.begun.append(began(event))
                echo.interrupted += timeline.outcome is Outcome.INTERRUPTED
