"""Kills and stops every stage in every phase of a turn, and tells what became of it.

python -m benchmarks.drill            all stages, all phases (about six minutes)
python -m benchmarks.drill --quick    one signal, two phases
"""

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile
from rich.console import Console
from rich.table import Table

from pipeline.client_lane import ClientLane
from pipeline.config import Config, builtin_configs, load_config
from pipeline.events import Event, TurnEnded, UserText
from pipeline.pipeline import Pipeline
from stages.messages import Played
from stages.outcome import Outcome
from stages.topology import INPUT_RATE, STAGES

PHASES = ("idle", "speaking", "preparing", "answering")
SIGNALS = {"kill -9": signal.SIGKILL, "stop": signal.SIGSTOP}
BACK_S = 10.0
CASE_S = 40.0
HANG_S = 1.5
PAUSE_S = 0.3
REPLY = "All work and no play makes a dull voice, they say. "


@dataclass(frozen=True)
class Case:
    """What was done, and what became of it."""

    stage: str
    phase: str
    signal: str
    turn: str
    ended_s: float | None
    back_s: float
    following: str

    @property
    def good(self) -> bool:
        """The turn that was hit, if any, ended as failed; the stage was back; the next worked."""
        expected = "-" if self.phase == "idle" else Outcome.FAILED.label
        return (
            self.turn == expected
            and self.back_s <= BACK_S
            and self.following == Outcome.ANSWERED.label
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drill; exit code 1 if any case went wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.drill",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="one signal, two phases")
    quick = parser.parse_args(arguments).quick
    phases = PHASES[::2] if quick else PHASES
    names = list(SIGNALS)[:1] if quick else list(SIGNALS)
    with TemporaryDirectory() as folder:
        clip = write_clip(Path(folder) / "clip.wav")
        cases = [
            asyncio.run(drill(stage, phase, name, clip))
            for name in names
            for stage in STAGES
            for phase in phases
        ]
    Console().print(render(cases))
    return 0 if all(case.good for case in cases) else 1


def write_clip(path: Path) -> Path:
    """One loud second."""
    times = np.arange(INPUT_RATE) / INPUT_RATE
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 220 * times), INPUT_RATE)
    return path


def settings() -> Config:
    """Scripted stages; the user speaks while the clip is loud."""
    return load_config(
        builtin_configs()["scripted"],
        [
            f'llm.options={{replies = ["{REPLY * 3}"], ids_per_s = 100}}',
            "tts.options={tone_ms = 40}",
            "llm.max_new_tokens=60",
            f"pipeline.hang_timeout_s={HANG_S}",
        ],
    )


async def drill(stage: str, phase: str, name: str, clip: Path) -> Case:
    """One case, in a pipeline of its own."""
    sys.stderr.write(f"drill: {name} {stage} while {phase}\n")
    async with (
        asyncio.timeout(CASE_S),
        Pipeline(settings()) as pipeline,
        await pipeline.open() as lane,
    ):
        await reach(lane, phase, clip)
        old = pipeline.stages[stage]
        os.kill(old, SIGNALS[name])
        hit = time.monotonic()
        turn, ended_s = "-", None
        if phase != "idle":
            turn = (await turn_ended(lane)).timeline.outcome.label
            ended_s = time.monotonic() - hit
        await back(pipeline, stage, old)
        back_s = time.monotonic() - hit
        while lane.clips_waiting:
            await asyncio.sleep(0.02)
        await asyncio.sleep(PAUSE_S)  # what goes on without a pause is the turn that was lost
        lane.play(clip)
        following = (await turn_ended(lane)).timeline.outcome.label
        return Case(stage, phase, name, turn, ended_s, back_s, following)


async def reach(lane: ClientLane, phase: str, clip: Path) -> None:
    """Bring a lane to a phase of its first turn."""
    if phase == "idle":
        return
    lane.play(clip)
    if phase == "speaking":
        while not lane.turns_begun:
            await asyncio.sleep(0.005)
    elif phase == "preparing":
        await first(lane, UserText)  # scripted: there are none before the last
    else:
        while Played.unpack(lane.lane.get("played")).position < 5:
            await asyncio.sleep(0.005)


async def first(lane: ClientLane, kind: type[Event]) -> Event:
    """The next event of a kind."""
    while not isinstance(event := await lane.next_event(), kind):
        pass
    return event


async def turn_ended(lane: ClientLane) -> TurnEnded:
    """The end of the next turn."""
    event = await first(lane, TurnEnded)
    assert isinstance(event, TurnEnded)
    return event


async def back(pipeline: Pipeline, stage: str, old: int) -> None:
    """Wait until a stage is another program, and ready."""
    while pipeline.stages[stage] == old or pipeline.away:
        await asyncio.sleep(0.01)


def render(cases: Iterable[Case]) -> Table:
    """A row a case."""
    table = Table(title="faults drill")
    for column in ("signal", "stage", "phase", "the turn", "ended s", "back s", "next turn", ""):
        table.add_column(column, justify="right" if column.endswith(" s") else "left")
    for case in cases:
        table.add_row(
            case.signal,
            case.stage,
            case.phase,
            case.turn,
            "" if case.ended_s is None else f"{case.ended_s:.2f}",
            f"{case.back_s:.2f}",
            case.following,
            "good" if case.good else "[red]WRONG[/red]",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
