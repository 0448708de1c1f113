"""Whether a latency suite fails when a stage is slowed, and only then.

A baseline is kept, then the same suite is held against it again and again, each time on a fresh
start of all programs. Then one stage after the other is slowed: stopped six sevenths of the time,
or told to wait longer. The suite must fail, and name a step of that stage.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import metrics
from benchmarks.command import (
    Progress,
    add_config_options,
    make_parser,
    positive,
    read_config,
    run,
)
from benchmarks.result import Figure, Result, load_now, make_result
from pipeline.config import Config, validate
from pipeline.lab.laboratory import Laboratory
from pipeline.lab.live import PipelineTarget
from pipeline.lab.run import About, Run
from pipeline.lab.steps import STAGES
from pipeline.lab.suite import Suite
from pipeline.lab.tell import comparison_text, failures

QUESTION = Path(__file__).parents[1] / "demos"
RUNS, QUICK_RUNS = 20, 2
REPEATS = 12
SETTINGS = ("llm.max_new_tokens=6",)  # of an answer only the beginning matters here
QUICK_SETTINGS = ("llm.options={replies = ['Yes, water.'], ids_per_s = 200}",)
STOPPED_S, RUNNING_S = 0.12, 0.02
WAITS = {"turn": "turn.early_release_ms=700", "quick-turn": "turn.release_ms=700"}
THROTTLED = ("asr", "llm", "tts")
SCRIPTED = {
    "asr": "asr.options={lines = ['What time is it?'], delay_ms = 500}",
    "llm": "llm.options={replies = ['Yes, water.'], first_id_ms = 500}",
    "tts": "tts.options={work_ms = 500}",
    "turn": WAITS["quick-turn"],
}


@dataclass(frozen=True)
class Slowing:
    """A stage that is slowed: by a setting, or by being stopped again and again."""

    stage: str
    setting: str = ""


@dataclass(frozen=True)
class Verdict:
    """What a suite said.

    Attributes:
        stages: of the steps that were named.
        lines: why it failed, or how it compares.
    """

    passed: bool
    stages: frozenset[str]
    lines: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.GATE, __doc__, "--json benchmarks/results/gate.json")
    add_config_options(parser)
    parser.add_argument("--runs", type=positive, help=f"unslowed ({RUNS}; quick: {QUICK_RUNS})")
    run(
        metrics.GATE,
        parser,
        arguments,
        lambda options, progress: asyncio.run(measure(options, progress)),
    )
    return 0


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark; quick: on scripted stages.

    Raises:
        VoxringError: the pipeline fails.
    """
    before = load_now()
    if options.quick:
        options.config = "scripted"
    settings = QUICK_SETTINGS if options.quick else SETTINGS
    slowings = quick_slowings() if options.quick else full_slowings()
    runs = options.runs or (QUICK_RUNS if options.quick else RUNS)
    progress("baseline")
    config = read_config(options, *settings)
    baseline = await play(config)
    verdicts = []
    for number in range(runs):
        progress(f"unslowed {number + 1} of {runs}")
        verdicts.append(verdict(await play(config, baseline)))
        for line in verdicts[-1].lines:
            progress(f"unslowed {number + 1}: {line}")
    slowed = {}
    for slowing in slowings:
        progress(f"{slowing.stage} is slowed")
        changes = (slowing.setting,) if slowing.setting else ()
        changed = read_config(options, *settings, *changes)
        slowed[slowing.stage] = verdict(await play(changed, baseline, slowing))
        for line in slowed[slowing.stage].lines:
            progress(f"{slowing.stage} is slowed: {line}")
    return make_result(
        metrics.GATE.name,
        before=before,
        n=runs,
        metrics=figures(verdicts, slowed),
        settings={"quick": options.quick, "repeats": REPEATS, "config": Path(options.config).name},
    )


def full_slowings() -> list[Slowing]:
    """Real stages: stopped most of the time; `turn` waits, as its work is next to none."""
    return [Slowing("turn", WAITS["turn"]), *map(Slowing, THROTTLED)]


def quick_slowings() -> list[Slowing]:
    """Scripted stages take their time when they are told to."""
    return [Slowing(stage, setting) for stage, setting in SCRIPTED.items()]


def figures(unslowed: Sequence[Verdict], slowed: Mapping[str, Verdict]) -> dict[str, Figure]:
    """All metrics."""
    named = {stage: int(is_right(stage, each)) for stage, each in slowed.items()}
    return {
        "passed_share": sum(each.passed for each in unslowed) / len(unslowed),
        "runs": len(unslowed),
        "named_share": sum(named.values()) / len(named),
        **{f"named_share.{stage}": right for stage, right in named.items()},
    }


def is_right(stage: str, said: Verdict) -> bool:
    """The suite has failed, and named this stage and no other."""
    return not said.passed and said.stages == {stage}


def verdict(run: Run) -> Verdict:
    """What a run says of itself."""
    phases = [each.phase for each in run.comparisons if each.regression]
    phases += [check.phase for check in run.checks if not check.passed]
    stages = frozenset(STAGES[phase] for phase in phases if phase)
    lines = tuple(failures(run)) or tuple(map(comparison_text, run.comparisons))
    return Verdict(run.passed, stages, lines)


async def play(config: Config, baseline: Run | None = None, slowing: Slowing | None = None) -> Run:
    """One run of the suite, on a fresh start of all programs."""
    raw = {"cold": 0, "repeats": REPEATS, "clip": [{"file": "question.wav"}]}
    suite = validate(Suite, raw, "the suite")
    with tempfile.TemporaryDirectory(prefix="voxring-") as work:
        target = PipelineTarget(config, Path(work))
        lab = Laboratory(suite, QUESTION, target, Path(work), About())
        throttled = slowing is not None and not slowing.setting
        async with throttling(target, slowing.stage) if slowing and throttled else _nothing():
            await lab.run()
        return lab.result(baseline)


@contextlib.asynccontextmanager
async def throttling(target: PipelineTarget, stage: str) -> AsyncIterator[None]:
    """Stop one of the programs six sevenths of the time, from when it is there."""
    task = asyncio.create_task(_throttle(target, stage))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _throttle(target: PipelineTarget, stage: str) -> None:
    while True:
        pid = target.pids.get(stage)
        try:
            if pid:
                os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(STOPPED_S)
        except ProcessLookupError:
            continue
        finally:
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(RUNNING_S)


@contextlib.asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield


if __name__ == "__main__":
    sys.exit(main())
