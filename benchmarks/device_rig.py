"""A pipeline between the devices of a sound server: what is said, and what comes out."""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.sound_server import SoundServer, missing, sound_server
from pipeline.client_lane import ClientLane
from pipeline.errors import AudioError
from pipeline.events import TurnEnded
from stages.audio.audible import FirstAudible
from stages.audio.clip import load_clip
from stages.audio.convert import convert
from stages.audio.manifest import find_note
from stages.audio.speech_end import find_speech_end
from stages.event import Event
from stages.outcome import Outcome
from stages.topology import INPUT_RATE

RECORD_RATE = 48_000
PATIENCE_S = 30.0  # for a question to be answered
SETTLED_S = 0.5  # behind an answer, for what is on its way to be recorded
LOUD = 300  # of int16: the first sample of a clip in a room of nothing


@dataclass(frozen=True)
class Spoken:
    """A recorded question.

    Attributes:
        samples: int16 [n], 16 kHz.
        end_s: from its first loud sample to the end of speech.
    """

    path: Path
    samples: NDArray[np.int16]
    text: str
    end_s: float


@dataclass(frozen=True)
class Exchange:
    """A question and its answer, as they were recorded outside.

    Attributes:
        ended: None if there was no answer in time.
        answer: int16 [n] at `RECORD_RATE`.
        latency_ms: from the end of speech to the first 10 ms at -50 dBFS.
        stamp_error_ms: how much later that was recorded than the edge says it was heard; the
            recorder's own latency is in it.
    """

    said: Spoken
    ended: TurnEnded | None
    answer: NDArray[np.int16]
    latency_ms: float | None
    stamp_error_ms: float | None

    @property
    def is_answered(self) -> bool:
        """Whether its answer was heard to its end."""
        return self.ended is not None and self.ended.timeline.outcome is Outcome.ANSWERED


def require_server() -> None:
    """Raises AudioError where a sound server cannot run."""
    if why := missing():
        raise AudioError(f"this benchmark needs a sound server of its own: {why}")


@contextmanager
def server_in(folder: Path) -> Iterator[SoundServer]:
    """A server that this program and all that it starts find, and no other."""
    with sound_server(folder) as server:
        before = {name: os.environ.get(name) for name in server.environment}
        os.environ.update(server.environment)
        try:
            yield server
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


def read_questions(clips: Sequence[Path]) -> list[Spoken]:
    """Recorded questions. Raises AudioError if one cannot be read, or nothing is said in it."""
    found = []
    for clip in map(load_clip, clips):
        samples = convert(clip.samples, clip.rate)
        end, note = find_speech_end(clip).seconds, find_note(clip.path)
        loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > LOUD)
        if end is None or not len(loud):
            raise AudioError(f"nothing is said in {clip.path.name}", "Choose another clip")
        text = note.text if note and note.text else ""
        found.append(Spoken(clip.path, samples, text, end - loud[0] / INPUT_RATE))
    return found


async def ask(
    server: SoundServer, lane: ClientLane, said: Spoken, room: str, speaker: str
) -> Exchange:
    """Say a question into a room, and record what comes out of a loudspeaker."""
    with server.record(room, RECORD_RATE) as heard, server.record(speaker, RECORD_RATE) as played:
        voice = server.say(room, said.samples, INPUT_RATE)
        try:
            ended = await _answer(lane)
        finally:
            await asyncio.to_thread(voice.wait, PATIENCE_S)
        await asyncio.sleep(SETTLED_S)
    answer = played.samples
    end = _end_of_speech(heard.samples, heard.began, said)
    first = FirstAudible().feed(answer, RECORD_RATE, round(played.began * 1e9))
    told = ended.timeline.at.get(Event.FIRST_AUDIO) if ended else None
    return Exchange(
        said,
        ended,
        answer,
        None if first is None or end is None else first / 1e6 - end * 1e3,
        None if first is None or told is None else (first - told) / 1e6,
    )


async def _answer(lane: ClientLane) -> TurnEnded | None:
    """The end of the last turn that a question began."""
    ended: TurnEnded | None = None
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        try:
            async with asyncio.timeout(limit - time.monotonic()):
                event = await lane.next_event()
        except TimeoutError:
            break
        if isinstance(event, TurnEnded):
            ended = event
            if lane.turns_ended >= lane.turns_begun:
                break
    return ended


def _end_of_speech(heard: NDArray[np.int16], began: float, said: Spoken) -> float | None:
    """When a question was over, monotonic s."""
    loud = np.flatnonzero(np.abs(heard.astype(np.int32)) > LOUD)
    return began + loud[0] / RECORD_RATE + said.end_s if len(loud) else None
