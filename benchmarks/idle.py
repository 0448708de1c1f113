"""What the programs of a pipeline cost while nobody speaks: time to be ready, cores, memory.

Starts the pipeline several times, then looks at the last one: with no lane open, and, after one
spoken turn, with one lane that hears room tone. The parent program counts as `control`.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import metrics, usage
from benchmarks.command import (
    Progress,
    add_config_options,
    make_parser,
    read_config,
    run,
)
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median
from pipeline.config import Config
from pipeline.pipeline import Pipeline
from pipeline.replay import read_question, replay
from stages.topology import CONTROL

QUESTION = Path(__file__).parents[1] / "demos" / "question.wav"
SETTLE_S = 3.0  # before a look: what a change set off is over by then


@dataclass(frozen=True)
class Plan:
    """How long to look.

    Attributes:
        starts: measured starts of the pipeline; one more, which fills the caches, comes first.
        idle_s: with no lane open.
        listening_s: with one lane open.
    """

    starts: int
    idle_s: float
    listening_s: float


FULL = Plan(starts=3, idle_s=30, listening_s=60)
QUICK = Plan(starts=1, idle_s=10, listening_s=20)


@dataclass(frozen=True)
class Look:
    """What programs used over some time, by program."""

    cpu_percent: dict[str, float]
    wakeups_per_s: dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.IDLE, __doc__, "--quick --json idle.json")
    add_config_options(parser)
    parser.add_argument("--clip", type=Path, default=QUESTION, help="the one spoken turn")
    run(
        metrics.IDLE,
        parser,
        arguments,
        lambda options, progress: asyncio.run(measure(options, read_config(options), progress)),
    )
    return 0


async def measure(options: argparse.Namespace, config: Config, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        VoxringError: the clip cannot be read, or the pipeline fails.
    """
    before = load_now()
    plan = QUICK if options.quick else FULL
    question = read_question(options.clip)
    await start(config, progress)  # brings what is missing, and the page cache
    ready = [await start(config, progress) for _ in range(plan.starts - 1)]
    began = time.monotonic()
    async with Pipeline(config, progress.program) as pipeline:
        ready.append(time.monotonic() - began)
        pids = {CONTROL: os.getpid(), **pipeline.stages}
        progress(f"no lane open, {plan.idle_s:.0f} s")
        idle = await look(pids, plan.idle_s)
        progress("one spoken turn")
        await replay(pipeline, [question])
        async with await pipeline.open():
            progress(f"one lane hears room tone, {plan.listening_s:.0f} s")
            await asyncio.sleep(SETTLE_S)
            memory = memory_of(pids)
            own = memory_of(pids, usage.OWN)
            listening = await look(pids, plan.listening_s)
            later = memory_of(pids, usage.OWN)
            progress(f"voxring top looks at it, {plan.idle_s:.0f} s")
            top_percent = await cost_of_top(plan.idle_s)
    return make_result(
        metrics.IDLE.name,
        before=before,
        n=len(ready),
        metrics={
            "ready_s": median(ready),
            **by_program("idle_cpu_percent", idle.cpu_percent),
            **by_program("idle_wakeups_per_s", idle.wakeups_per_s),
            **by_program("listening_cpu_percent", listening.cpu_percent),
            **by_program("listening_wakeups_per_s", listening.wakeups_per_s),
            "top_cpu_percent": top_percent,
            **by_program("memory_mib", memory),
            **by_program("memory_growth_mib", {name: later[name] - own[name] for name in pids}),
        },
        settings={
            "quick": options.quick,
            "idle_s": plan.idle_s,
            "listening_s": plan.listening_s,
            "config": Path(options.config).name,
            "set": options.overrides,
        },
    )


async def start(config: Config, progress: Progress) -> float:
    """Seconds from the start of a pipeline until it is ready; it is ended again."""
    began = time.monotonic()
    async with Pipeline(config, progress.program):
        return time.monotonic() - began


async def look(pids: Mapping[str, int], seconds: float) -> Look:
    """What programs use over some time; the event loop of this one sleeps as a client's would."""
    await asyncio.sleep(SETTLE_S)
    earlier = usage.take(pids)
    await asyncio.sleep(seconds)
    later = usage.take(pids)
    return Look(later.cpu_percent(earlier), later.wakeups_per_s(earlier))


async def cost_of_top(seconds: float) -> float:
    """Share of a core that `voxring top` takes while it looks at this program's pipeline, %."""
    command = [sys.executable, "-m", "pipeline", "top", str(os.getpid())]
    program = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    try:
        return (await look({"top": program.pid}, seconds)).cpu_percent["top"]
    finally:
        program.terminate()
        await program.wait()


def memory_of(pids: Mapping[str, int], parts: Sequence[str] = usage.WHOLE) -> dict[str, float]:
    """PSS of each program, or parts of it, MiB."""
    return {name: usage.memory_mib(pid, parts) for name, pid in pids.items()}


def by_program(metric: str, values: Mapping[str, float]) -> dict[str, Figure]:
    """A metric's sum, and each program's part of it."""
    parts: dict[str, Figure] = {f"{metric}.{name}": value for name, value in values.items()}
    return {metric: sum(values.values()), **parts}


if __name__ == "__main__":
    sys.exit(main())
