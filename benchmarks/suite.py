"""All benchmarks, one after the other: what `voxring bench` runs.

Each is a program of its own; one that fails does not stop the others.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import sound_server, tables
from benchmarks.asr_clips import RECORDINGS
from benchmarks.metrics import BENCHMARKS, Benchmark
from benchmarks.result import Result
from pipeline.errors import ConfigError, OutputError
from pipeline.output import check_writable

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PATIENCE = 4  # times as long as it should take is too long
QUICK_MINUTES = 3
END_S = 5.0
FAILED, INTERRUPTED = 1, 130


def has_recordings() -> str:
    """Why a benchmark that hears recorded speech cannot run; "": it can."""
    return "" if RECORDINGS.is_dir() else f"needs the folder {RECORDINGS.name} beside the project"


def has_sound() -> str:
    """Why a benchmark of sound devices cannot run; "": it can."""
    return has_recordings() or sound_server.missing()


def has_canceller() -> str:
    """Why a benchmark of echo cannot run; "": it can."""
    lacks = not find_spec("livekit")
    return has_recordings() or ("needs livekit (pip install 'voxring[talk]')" if lacks else "")


def has_gpu() -> str:
    """Why a benchmark of a GPU cannot run; "": it can."""
    return "" if Path("/dev/nvidia0").exists() else "needs an NVIDIA GPU"


def nothing() -> str:
    """It needs nothing."""
    return ""


@dataclass(frozen=True)
class Entry:
    """One benchmark.

    Attributes:
        name: of its result.
        about: what it asks, one line.
        minutes: a full run takes on two cores.
        arguments: module and options.
        missing: why it cannot run here; "": it can.
        suffix: of what it writes: figures, or a table as text.
    """

    name: str
    about: str
    minutes: int
    arguments: tuple[str, ...]
    missing: Callable[[], str] = nothing
    suffix: str = ".json"

    def command(self, folder: Path, *, quick: bool) -> list[str]:
        """Words of its command line."""
        result = ["--json", str(folder / f"{self.name}.json")] if self.suffix == ".json" else []
        short = ["--quick"] if quick else []
        return [sys.executable, "-m", *self.arguments, *short, *result]


MINUTES = 10  # of a full run, where nothing else is known
LONGER = {
    "asr_sweep": 22,
    "endpoint": 35,
    "exact": 20,
    "gate": 30,
    "llm_narrow": 20,
    "soak": 40,
    "turns": 15,
}
SHORTER = {"end_of_turn": 4, "first_audio": 2, "idle": 3, "ring": 4}
ELSEWHERE = {  # in a module that does not have the benchmark's name
    "asr_long": ("benchmarks.asr", "--long"),
    "asr_sweep": ("benchmarks.asr", "--sweep"),
}
HEAR = ("asr", "asr_long", "asr_sweep", "end_of_turn", "turns")
PLAY = ("device", "device_long")
COMPUTE = ("llm_cuda", "llm_neighbour")
NEEDS: dict[str, Callable[[], str]] = {
    **dict.fromkeys(HEAR, has_recordings),
    **dict.fromkeys(PLAY, has_sound),
    "device_echo": has_canceller,
    **dict.fromkeys(COMPUTE, has_gpu),
}
DRILL = Entry(
    name="drill",
    about="What becomes of every harm that we know of?",
    minutes=MINUTES,
    arguments=("benchmarks.drill",),
    suffix=".txt",
)


def _entry(benchmark: Benchmark) -> Entry:
    """One whose figures stand in `metrics`; without more words, in the module of its name."""
    name = benchmark.name
    minutes = {**LONGER, **SHORTER}.get(name, MINUTES)
    arguments = ELSEWHERE.get(name, (f"benchmarks.{name}",))
    return Entry(name, benchmark.question, minutes, arguments, NEEDS.get(name, nothing))


ENTRIES = (*map(_entry, BENCHMARKS), DRILL)


@dataclass(frozen=True)
class Run:
    """What became of one.

    Attributes:
        verdict: done, skipped, failed, interrupted.
        seconds: it took.
        note: why it was skipped, how it failed, which bars it missed.
    """

    name: str
    verdict: str
    seconds: float = 0.0
    note: str = ""


def chosen(only: Sequence[str]) -> list[Entry]:
    """The benchmarks of these names; all if there are none.

    Raises:
        ConfigError: there is none of that name.
    """
    known = {entry.name: entry for entry in ENTRIES}
    if unknown := [name for name in only if name not in known]:
        raise ConfigError(f"there is no benchmark {unknown[0]!r}", f"There are: {', '.join(known)}")
    return [entry for entry in ENTRIES if not only or entry.name in only]


def run(
    only: Sequence[str], folder: Path | None, console: Console, *, quick: bool, record: bool
) -> int:
    """Run benchmarks, print what became of them, and give the exit code.

    Args:
        folder: for results; None: "bench-quick" or "bench-full" here.
        console: for progress.
        record: the results are those of the project: full ones, and the pages are made anew.

    Raises:
        ConfigError: a name is unknown, or quick results were to be recorded.
        OutputError: the folder cannot be written to.
    """
    entries = chosen(only)
    if record and quick:
        raise ConfigError("quick figures are not recorded", "Leave out --quick or --record")
    place = RESULTS if record else (folder or Path("bench-quick" if quick else "bench-full"))
    place = place.absolute()
    check_writable(place, "--out")
    runs: list[Run] = []
    try:
        for number, entry in enumerate(entries, 1):
            minutes = min(QUICK_MINUTES, entry.minutes) if quick else entry.minutes
            console.print(
                f"[bold]{number}/{len(entries)} {entry.name}[/bold]: {entry.about} "
                f"(about {minutes} min)",
                highlight=False,
            )
            runs.append(run_one(entry, place, minutes * 60 * PATIENCE, quick=quick))
    except KeyboardInterrupt:
        runs.append(Run(entry.name, "interrupted"))
    conclude(runs, place)
    console.print(render(runs, place))
    if record:
        tables.main([])
    if any(one.verdict == "interrupted" for one in runs):
        return INTERRUPTED
    return FAILED if any(one.verdict == "failed" for one in runs) else 0


def run_one(entry: Entry, folder: Path, limit_s: float, *, quick: bool) -> Run:
    """Run one in a program of its own; its progress goes to our standard error."""
    if why := entry.missing():
        return Run(entry.name, "skipped", note=why)
    began = time.monotonic()
    code = start(entry.command(folder, quick=quick), folder / f"{entry.name}.txt", limit_s)
    seconds = time.monotonic() - began
    if code is None:
        return Run(entry.name, "failed", seconds, f"not done after {limit_s / 60:.0f} minutes")
    if code:
        return Run(entry.name, "failed", seconds, f"exit code {code}; its own line stands above")
    return Run(entry.name, "done", seconds, missed(entry, folder))


def start(command: Sequence[str], output: Path, limit_s: float) -> int | None:
    """Run a command, what it prints into a file; its exit code, or None if it took too long."""
    with output.open("wb") as file:
        program = subprocess.Popen(command, stdout=file, cwd=ROOT)
        try:
            return program.wait(limit_s)
        except subprocess.TimeoutExpired:
            program.terminate()
            return None
        finally:
            try:  # Ctrl-C has reached it too
                program.wait(END_S)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


def missed(entry: Entry, folder: Path) -> str:
    """Which bars a result misses, for people."""
    if entry.suffix != ".json":
        return ""
    result = Result.read(folder / f"{entry.name}.json")
    benchmark = next(each for each in BENCHMARKS if each.name == result.benchmark)
    names = [
        metric.name
        for metric in benchmark.metrics
        if metric.bar and (value := result.metrics.get(metric.name)) is not None
        if not metric.bar.holds(value)
    ]
    return f"misses {', '.join(names)}" if names else ""


def conclude(runs: Iterable[Run], folder: Path) -> None:
    """Write what became of all of them.

    Raises:
        OutputError: it cannot be written.
    """
    path = folder / "bench.json"
    if folder == RESULTS:
        return  # every file there is a result
    try:
        path.write_text(json.dumps([asdict(one) for one in runs], indent=2) + "\n", "utf-8")
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror}", "Choose another --out"
        ) from error


def render(runs: Iterable[Run], folder: Path) -> Table:
    """A row a benchmark."""
    table = Table(title=f"results in {folder}", title_justify="left")
    for column in ("benchmark", "", "took", "note"):
        table.add_column(column, justify="right" if column == "took" else "left")
    styles = {"done": "green", "skipped": "yellow", "failed": "red", "interrupted": "red"}
    for one in runs:
        took = f"{one.seconds / 60:.0f}:{one.seconds % 60:02.0f}" if one.seconds else ""
        verdict = f"[{styles[one.verdict]}]{one.verdict}[/]"
        table.add_row(one.name, verdict, took, one.note)
    return table


def listing() -> Table:
    """What there is."""
    table = Table(box=None, pad_edge=False)
    for column in ("benchmark", "min", "asks", "here"):
        table.add_column(column, justify="right" if column == "min" else "left")
    for entry in ENTRIES:
        table.add_row(entry.name, str(entry.minutes), entry.about, entry.missing() or "can run")
    return table
