"""Running pipelines of scripted stages, and questions for them."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import soundfile

from pipeline.client_lane import ClientLane
from pipeline.config import Config, builtin_configs, load_config
from pipeline.events import Event, TurnEnded
from pipeline.pipeline import Pipeline

T = TypeVar("T")
DEADLINE_S = 60
SPEECH = "turn.options={speech = [[100, 500]]}"  # ms since a lane was opened


def scripted(*overrides: str) -> Config:
    """The scripted configuration, whose user speaks once, soon after a lane is opened."""
    return load_config(builtin_configs()["scripted"], [SPEECH, *overrides], cores=2)


def run(work: Callable[[Pipeline], Awaitable[T]], config: Config | None = None) -> T:
    """Do something with a running pipeline, within a deadline."""

    async def main() -> T:
        async with asyncio.timeout(DEADLINE_S), Pipeline(config or scripted()) as pipeline:
            return await work(pipeline)

    return asyncio.run(main(), debug=False)


async def until_turn_ended(lane: ClientLane) -> tuple[TurnEnded, list[Event]]:
    """The end of the next turn, and all that was told before it."""
    seen: list[Event] = []
    async for event in lane:
        if isinstance(event, TurnEnded):
            return event, seen
        seen.append(event)
    raise AssertionError("the lane was closed")


BACK_S = 10.0


async def back(pipeline: Pipeline, stage: str, old: int) -> None:
    """Wait until a stage runs again, as another program."""
    async with asyncio.timeout(BACK_S):
        while pipeline.stages[stage] == old or pipeline.away:
            await asyncio.sleep(0.02)


def tone(path: Path, seconds: float = 1.0, rate: int = 16_000) -> Path:
    """A clip with something to hear."""
    times = np.arange(int(seconds * rate)) / rate
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 220 * times), rate)
    return path


def alive(pid: int) -> bool:
    """Whether a process runs: one that is dead but not reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether something becomes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
        time.sleep(0.01)
    return True
