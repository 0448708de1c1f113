"""The real pipeline as a target: its edge plays the clips, its recorder keeps both sides."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.client_lane import ClientLane
from pipeline.config import Config
from pipeline.errors import ConfigError
from pipeline.events import ClipEnded, Event, Fault, TurnEnded
from pipeline.lab.mix import Said
from pipeline.lab.target import Talk, Told
from pipeline.pipeline import Pipeline, Progress, silent
from pipeline.session_name import session_file
from ringbuf import EventRecord
from stages.event import Event as Milestone
from stages.messages import Played
from stages.topology import INPUT_RATE

Starting = Callable[[], AbstractContextManager[Progress]]


def unseen() -> AbstractContextManager[Progress]:
    """Tell nobody."""
    return nullcontext(silent)


class PipelineTarget:
    """A pipeline of real programs, started anew each time.

    Args:
        config: as it is, but for the folder of recordings, where it has none.
        work: folder for recordings.
        starting: entered while it starts, for what tells of it.

    Raises:
        ConfigError: the edge is not "file".
    """

    def __init__(self, config: Config, work: Path, starting: Starting = unseen) -> None:
        if config.audio.stage != "file":
            raise ConfigError(
                f'a suite plays clips, and audio.stage is "{config.audio.stage}"',
                "Leave it as it is: file",
            )
        kept = config.audio.record or str(work)
        audio = config.audio.model_copy(update={"record": kept})
        self.config = config.model_copy(update={"audio": audio})
        self._starting = starting
        self._pipeline: Pipeline | None = None

    @property
    def pids(self) -> dict[str, int]:
        """The stages."""
        return self._pipeline.stages if self._pipeline else {}

    async def start(self) -> None:
        """Start all programs.

        Raises:
            VoxringError: one cannot.
        """
        with self._starting() as progress:
            pipeline = Pipeline(self.config, progress)
            await pipeline.__aenter__()
        self._pipeline = pipeline

    async def stop(self) -> None:
        """End all programs."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline:
            await pipeline.__aexit__(None, None, None)

    async def open(self) -> Talk:
        """Begin a conversation.

        Raises:
            SessionError: no lane is free, or the target was not started.
            StageError: a stage has died.
        """
        assert self._pipeline, "it was started"
        records: list[EventRecord] = []
        self._pipeline.on_records = records.extend
        lane = await self._pipeline.open()
        return PipelineTalk(self._pipeline, lane, self.config.audio.record, records)


class PipelineTalk:
    """One conversation; `Talk` tells of its methods."""

    def __init__(
        self, pipeline: Pipeline, lane: ClientLane, kept: str, records: list[EventRecord]
    ) -> None:
        self._pipeline = pipeline
        self._lane = lane
        self._records = records
        self._recording = session_file(kept, lane.lane.get("opened"), lane.number, ".wav")
        self._turns: list[TurnEnded] = []
        self._faults: list[str] = []
        self._opened = time.monotonic_ns()
        self._stale = -1  # the answer that stood before the last clip that is to be answered

    @property
    def is_saying(self) -> bool:
        """Whether the edge still plays a clip."""
        return self._lane.clips_waiting > 0

    @property
    def is_answering(self) -> bool:
        """Whether the answer that counts is being played."""
        lane = self._lane.lane
        played = Played.unpack(lane.get("played"))
        return (
            self.turns_ended < self.turns_begun
            and not played.final
            and played.answer == lane.get("released") == lane.get("answer") != self._stale
        )

    @property
    def turns_begun(self) -> int:
        """By `turn`."""
        return self._lane.turns_begun

    @property
    def turns_ended(self) -> int:
        """Those that were taken here: the lane counts one before it is told."""
        return len(self._turns)

    def say(self, said: Said) -> None:
        """Begin it with the next block of the microphone."""
        if not said.say.goes_on:
            self._stale = self._lane.lane.get("released")
        self._lane.play(said.path, speech_end_s=said.speech_end_s)

    async def wait(self, seconds: float) -> None:
        """Take the next event, if one comes in time."""
        try:
            async with asyncio.timeout(seconds):
                self._take(await self._lane.next_event())
        except TimeoutError:
            return

    async def close(self) -> Told:
        """Collect all that is known."""
        self._pipeline.collect()
        await self._lane.close()  # the recorder writes the rest before it lets go
        mine = [record for record in self._records if record.lane == self._lane.number]
        starts = [record.at for record in mine if record.event == Milestone.CLIP_START]
        opened = [record.at for record in mine if record.event == Milestone.OPENED]
        began = opened[0] if opened else self._opened
        return Told(
            began=began,
            clips=tuple(sorted(starts)),
            turns=tuple(self._turns),
            faults=tuple(self._faults),
            records=tuple(sorted(mine, key=lambda record: record.at)),
            sound=read_stereo(self._recording),
        )

    def _take(self, event: Event) -> None:
        match event:
            case TurnEnded():
                self._turns.append(event)
            case Fault(_, message):
                self._faults.append(message)
            case ClipEnded(error) if error:
                self._faults.append(error)


def read_stereo(path: Path) -> NDArray[np.int16]:
    """A recording of both sides, int16 [n, 2]; empty where there is none."""
    import soundfile

    if not path.exists():
        return np.zeros((0, 2), np.int16)
    samples, rate = soundfile.read(path, dtype="int16", always_2d=True)
    assert rate == INPUT_RATE, "the recorder writes what the pipeline hears"
    result: NDArray[np.int16] = samples
    return result
