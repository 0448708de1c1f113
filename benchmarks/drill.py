"""Does every harm to a running pipeline that we know of, and tells what became of it.

Each case is a pipeline of its own: a conversation is brought to a phase of its first turn while
another one has a turn too, the fault comes, and then both ask once more. A case is good if the turn
that was hit and the one beside it ended as they must, both next turns were answered, and nothing
was left behind.

kill -9     each stage, in each phase
stop        each stage hangs for good, and is replaced
slow        each stage, and the client's own program, stands still for a moment
full ring   nobody reads the microphone, the speech, the ids of either side, the sound
clock       the wall clock jumps an hour ahead, and back
disk        full, for transcripts, recordings and logs
"""

import argparse
import asyncio
import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile
from rich.console import Console
from rich.table import Table

from benchmarks import wall_clock
from benchmarks.drill_faults import (
    CLOCK,
    HANG_S,
    IDLE,
    KINDS,
    NONE,
    PREPARING,
    SPEAKING,
    Kind,
    Scene,
    nothing,
)
from benchmarks.result import load_now
from pipeline.client_lane import ClientLane
from pipeline.config import Config, builtin_configs, load_config
from pipeline.errors import VoxringError
from pipeline.events import TurnEnded, UserText
from pipeline.pipeline import Pipeline
from pipeline.report import machine
from pipeline.version import VERSION
from stages.messages import Played
from stages.outcome import Outcome
from stages.topology import INPUT_RATE

ROOT = Path(__file__).parents[1]
BACK_S = 10.0
CASE_S = 120.0
PAUSE_S = 0.3
GONE_S = 2.0  # for programs to be gone after the pipeline has ended
REPLY = "All work and no play makes a dull voice, they say. "
QUICK_PHASES = (IDLE, PREPARING)
SKIPPED = "skipped"
WIDTH = 110  # of the table, wherever it goes


@dataclass(frozen=True)
class Case:
    """What was done, and what became of it.

    Attributes:
        turn: how the turn that was hit ended, and `expected`; "-": there was none.
        beside: how the other conversation's turns ended, and how each `may` have.
        following: how the next turns of this and of another conversation ended.
        trouble: what else is wrong; "": nothing.
    """

    does: str
    target: str
    phase: str
    expected: str
    may: tuple[str, ...]
    turn: str = NONE
    beside: tuple[str, ...] = ()
    ended_s: float | None = None
    back_s: float | None = None
    following: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def good(self) -> bool:
        """All is as it must be."""
        answered = Outcome.ANSWERED.label
        return bool(
            not self.trouble
            and self.turn == self.expected
            and set(self.beside) <= set(self.may)
            and self.beside
            and (self.back_s or 0.0) <= BACK_S
            and set(self.following) == {answered}
        )

    @property
    def is_skipped(self) -> bool:
        """This machine cannot do it."""
        return self.trouble.startswith(SKIPPED)

    @property
    def verdict(self) -> str:
        """For people."""
        if self.is_skipped:
            return f"[yellow]{self.trouble}[/yellow]"
        return "good" if self.good else f"[red]WRONG[/red] {self.trouble}".rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drill; exit code 1 if any case went wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.drill",
        description=__doc__,
        epilog="example: python -m benchmarks.drill --only clock disk",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="at most two phases of each")
    parser.add_argument("--only", nargs="+", choices=KINDS, metavar="FAULT", default=list(KINDS))
    options = parser.parse_args(arguments)
    if CLOCK in options.only and not wall_clock.is_ours():
        return with_clock(sys.argv[1:] if arguments is None else arguments)
    before = load_now()
    with TemporaryDirectory() as folder:
        cases = []
        for kind, target, phase in plan(options.only, quick=options.quick):
            sys.stderr.write(f"drill: {kind.does}, {target}, {phase}\n")
            cases.append(run_case(kind, target, phase, Path(folder)))
    console = Console()
    console.width = max(console.width, WIDTH)
    console.print(render(cases, f"{describe()}, load {before[0]} before"))
    wrong = [case for case in cases if not (case.good or case.is_skipped)]
    return 1 if wrong else 0


def with_clock(arguments: Sequence[str]) -> int:
    """The drill in a program whose wall clock can be set; its exit code."""
    with TemporaryDirectory() as folder:
        try:
            environment = wall_clock.build(Path(folder))
        except RuntimeError as error:
            sys.stderr.write(f"drill: {error}: the wall clock will not jump\n")
            environment = {wall_clock.FILE: ""}
        command = [sys.executable, "-m", "benchmarks.drill", *arguments]
        return subprocess.run(command, env={**os.environ, **environment}, cwd=ROOT).returncode


def plan(names: Iterable[str], *, quick: bool) -> Iterator[tuple[Kind, str, str]]:
    """Fault, target and phase of every case."""
    for name in names:
        for kind in KINDS[name]:
            for target in kind.targets:
                for phase in kind.phases:
                    if not quick or len(kind.phases) == 1 or phase in QUICK_PHASES:
                        yield kind, target, phase


def write_clip(path: Path, seconds: float = 1.0) -> Path:
    """So long is it loud."""
    times = np.arange(round(seconds * INPUT_RATE)) / INPUT_RATE
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 220 * times), INPUT_RATE)
    return path


def settings(kind: Kind, folder: Path) -> Config:
    """Scripted stages; the user speaks while the clip is loud."""
    return load_config(
        builtin_configs()["scripted"],
        [
            f'llm.options={{replies = ["{REPLY * 3}"], ids_per_s = 100}}',
            "tts.options={tone_ms = 40}",
            "llm.max_new_tokens=60",
            f"pipeline.hang_timeout_s={HANG_S}",
            *(setting.replace("{folder}", str(folder)) for setting in kind.settings),
        ],
    )


def run_case(kind: Kind, target: str, phase: str, clips: Path) -> Case:
    """One case; whatever goes wrong is its trouble.

    Args:
        clips: folder for what is said.
    """
    expected = NONE if phase == IDLE else kind.turn
    case = Case(kind.does, target, phase, expected, kind.beside)
    if kind in KINDS[CLOCK] and not wall_clock.can_jump():
        return replace(case, trouble=f"{SKIPPED}: no C compiler")
    descriptors = count_descriptors()
    seen: set[int] = set()
    clip = write_clip(clips / "clip.wav")
    first = write_clip(clips / "first.wav", kind.speaks_s)
    with TemporaryDirectory() as folder, kind.around():
        try:
            case = asyncio.run(drill(kind, case, (first, clip), Path(folder), seen))
        except TimeoutError:
            case = replace(case, trouble=f"hung: not done after {CASE_S:.0f} s")
        except VoxringError as error:
            case = replace(case, trouble=str(error))
    left = [pid for pid in seen if not is_gone(pid)]
    if left:
        return replace(case, trouble=f"{case.trouble} programs left: {left}".strip())
    if (extra := count_descriptors() - descriptors) > 0:
        return replace(case, trouble=f"{case.trouble} {extra} descriptors left".strip())
    return case


async def drill(
    kind: Kind, case: Case, clips: tuple[Path, Path], folder: Path, seen: set[int]
) -> Case:
    """One case, in a pipeline of its own; fills `seen` with the programs that there were.

    Args:
        clips: what is said in the turn that is hit, and in all others.
    """
    first, clip = clips
    async with (
        asyncio.timeout(CASE_S),
        Pipeline(settings(kind, folder)) as pipeline,
        await pipeline.open() as lane,
        await pipeline.open() as other,
    ):
        scene = Scene(pipeline, lane, case.target, clip, seen=seen)
        seen |= set(pipeline.stages.values())
        other.play(clip)
        if case.phase == IDLE:
            await until_heard(other)
        await reach(scene, case.phase, first)
        while not other.turns_begun:
            await asyncio.sleep(0.005)
        hit = time.monotonic()
        await kind.strike(scene)
        if case.phase != IDLE:
            turn = (await scene.turn_ended()).timeline.outcome.label
            case = replace(case, turn=turn, ended_s=time.monotonic() - hit)
        if kind.settle is not nothing:
            await kind.settle(scene)
            case = replace(case, back_s=time.monotonic() - hit)
        while lane.clips_waiting:
            await asyncio.sleep(0.02)
        await asyncio.sleep(PAUSE_S)  # what goes on without a pause is the turn that was lost
        while lane.turns_ended < lane.turns_begun:  # or, heard by a stage that was back, another
            await scene.turn_ended()
        ends = [await outcome(other, scene) for _ in range(other.turns_begun)]
        case = replace(case, beside=tuple(ends))
        following = await asyncio.gather(*(ask(each, clip, scene) for each in (lane, other)))
        trouble = kind.check(scene)
        if lane.turns_ended != lane.turns_begun:
            trouble = f"{trouble} {lane.turns_begun} turns began, {lane.turns_ended} ended".strip()
        return replace(case, following=tuple(following), trouble=trouble)


async def reach(scene: Scene, phase: str, clip: Path) -> None:
    """Bring the conversation to a phase of its first turn, in which this is said."""
    lane = scene.lane
    if phase == IDLE:
        return
    lane.play(clip)
    if phase == SPEAKING:
        while not lane.turns_begun:
            await asyncio.sleep(0.005)
    elif phase == PREPARING:
        while not isinstance(await scene.next_event(), UserText):
            pass  # scripted: there are none before the last
    else:
        await until_heard(lane)


async def until_heard(lane: ClientLane) -> None:
    """Until some of the answer was."""
    while Played.unpack(lane.lane.get("played")).position < 5:
        await asyncio.sleep(0.005)


async def ask(lane: ClientLane, clip: Path, scene: Scene) -> str:
    """How the next turn ends."""
    lane.play(clip)
    return await outcome(lane, scene)


async def outcome(lane: ClientLane, scene: Scene) -> str:
    """How the turn that runs on a lane ends."""
    while True:
        event = await (scene.next_event() if lane is scene.lane else lane.next_event())
        if isinstance(event, TurnEnded):
            return event.timeline.outcome.label


def is_gone(pid: int) -> bool:
    """Whether a program is no more, after a moment."""
    deadline = time.monotonic() + GONE_S
    while Path(f"/proc/{pid}").exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def count_descriptors() -> int:
    """Open in this program, but for those of what is garbage."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def describe() -> str:
    """This machine, and what runs on it."""
    here = machine()
    return f"{here['processor']}, {here['cores']} cores, {here['platform']}, voxring {VERSION}"


def render(cases: Sequence[Case], where: str) -> Table:
    """A row a case; how many, and where, below."""
    good = sum(case.good for case in cases)
    caption = f"{good} of {len(cases)} cases good\n{where}"
    table = Table(title="faults drill", caption=caption, caption_justify="left")
    columns = (
        "fault",
        "hits",
        "phase",
        "the turn",
        "ended s",
        "beside",
        "back s",
        "next turns",
        "",
    )
    for column in columns:
        table.add_column(column, justify="right" if column.endswith(" s") else "left")
    for case in cases:
        table.add_row(
            case.does,
            case.target,
            case.phase,
            case.turn,
            _seconds(case.ended_s),
            ", ".join(case.beside),
            _seconds(case.back_s),
            ", ".join(dict.fromkeys(case.following)),
            case.verdict,
        )
    return table


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
