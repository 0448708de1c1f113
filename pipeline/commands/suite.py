"""`voxring replay SUITE.toml`: a suite, its verdict, and the files that tell of it."""

import asyncio
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.text import Text

from pipeline.commands.app import FAILED, complain, load, stderr, stdout
from pipeline.errors import ConfigError, OutputError, VoxringError
from pipeline.lab.baseline import another_machine
from pipeline.lab.export import to_csv, to_jsonl
from pipeline.lab.junit import to_junit
from pipeline.lab.laboratory import Laboratory
from pipeline.lab.live import PipelineTarget
from pipeline.lab.mix import Said
from pipeline.lab.run import About, Run, Turn, read_run, to_json
from pipeline.lab.suite import Suite, read_suite, suite_of
from pipeline.lab.table import run_table, turn_line
from pipeline.lab.target import Target, endpoint_target
from pipeline.lab.tell import comparison_text, failures, unjudged
from pipeline.output import check_file, write_text
from pipeline.progress import StartProgress
from pipeline.terminal.words import clean


@dataclass(frozen=True)
class Files:
    """What is written of a run; None: not asked for."""

    json: Path | None = None
    jsonl: Path | None = None
    csv: Path | None = None
    junit: Path | None = None
    report: Path | None = None
    save_baseline: Path | None = None

    def items(self) -> list[tuple[str, Path]]:
        """Option and path of those that were asked for."""
        return [
            (f"--{name.replace('_', '-')}", path)
            for name, path in vars(self).items()
            if path is not None
        ]


def played(
    path: Path | None,
    clips: Sequence[Path],
    repeat: int | None,
    config: Path | None,
    overrides: Sequence[str],
    files: Files,
    baseline: Path | None,
    endpoint: str,
) -> None:
    """Play a suite, or one that is made of clips; see `run_suite`.

    Args:
        path: of the suite; None: the clips are one.
        repeat: instead of the suite's.
    """
    suite = read_suite(path) if path else suite_of(clips, repeat or 1, cold=0)
    if repeat:
        suite = suite.model_copy(update={"repeats": repeat})
    run_suite(suite, path.parent if path else Path(), config, overrides, files, baseline, endpoint)


def run_suite(
    suite: Suite,
    folder: Path,
    config: Path | None,
    overrides: Sequence[str],
    files: Files,
    baseline: Path | None,
    endpoint: str = "",
) -> None:
    """Play a suite, tell what came of it, and end as its verdict says.

    Args:
        endpoint: a running endpoint's URL, in place of a pipeline of our own.

    Raises:
        ConfigError, OutputError: something that was asked for cannot be; nothing was started.
        VoxringError: the pipeline broke; what was played until then is written.
    """
    before = read_run(baseline, "baseline") if baseline else None
    for option, path in files.items():
        check_file(path, option)
    if files.report:
        needs_jinja()
    url = endpoint or suite.endpoint
    with tempfile.TemporaryDirectory(prefix="voxring-") as work:
        if url:
            target, about = _endpoint(url, config, overrides)
        else:
            target, about = _pipeline(suite, folder, config, overrides, Path(work))
        status = Status(suite)
        lab = Laboratory(
            suite, folder, target, Path(work), about, on_say=status.say, on_turns=status.turns
        )
        interrupted = "interrupted"
        try:
            asyncio.run(_until_signal(lab))
            interrupted = ""
        except VoxringError as error:
            interrupted = str(error)
            raise
        finally:
            status.end()
            run = lab.result(before, interrupted)
            written = conclude(run, before, files)
    if not written or not run.passed:
        raise typer.Exit(FAILED)


def _pipeline(
    suite: Suite, folder: Path, config: Path | None, overrides: Sequence[str], work: Path
) -> tuple[Target, About]:
    """A pipeline of our own, and what is known of it."""
    changes = [*suite.set, *overrides]
    settings = load(config or _config_of(suite, folder), changes)
    models = {
        name: str(model)
        for name in ("asr", "llm", "tts")
        if (model := getattr(getattr(settings, name), "model", ""))
    }
    about = About(config=str(config or suite.config or "laptop"), changes=changes, models=models)
    return PipelineTarget(settings, work, lambda: StartProgress(stderr)), about


def _endpoint(url: str, config: Path | None, overrides: Sequence[str]) -> tuple[Target, About]:
    """A running endpoint: how it is configured is its own affair.

    Raises:
        ConfigError: that was asked for, or the package for it is missing.
    """
    if config or overrides:
        raise ConfigError(
            "--config and --set are for a pipeline of our own, not for an endpoint",
            "Start `voxring serve` with them",
        )
    return endpoint_target(url), About(target=url)


async def _until_signal(lab: Laboratory) -> None:
    """Run the suite; a SIGTERM cancels it, as Ctrl-C does."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await lab.run()


def conclude(run: Run, before: Run | None, files: Files) -> bool:
    """Show the result of what there is and write it; False if something could not be written."""
    if run.turns:
        stdout.print(run_table(run))
    if before and (differs := another_machine(before, run)):
        stderr.print(Text(f"note: the baseline is of another machine: {differs}", "yellow"))
    for each in run.comparisons:
        if not each.regression:
            stdout.print(Text(comparison_text(each), "dim"), soft_wrap=True)
    if few := unjudged(run):
        stderr.print(Text(f"note: {few}", "yellow"), soft_wrap=True)
    for line in failures(run):
        complain(clean(line))
    if run.passed:
        stdout.print(Text(f"passed: {len(run.checks)} checks", "green"))
    return write_files(run, files)


def write_files(run: Run, files: Files) -> bool:
    """Everything that was asked for, each file whole or not at all; what fails is told."""
    written = True
    for option, path in files.items():
        try:
            write_text(path, WRITERS[option](run), option)
        except OutputError as error:
            complain(str(error))
            written = False
    return written


def slim(run: Run) -> str:
    """A run without pictures and samples: what a comparison needs."""
    bare = [turn.model_copy(update={"wave": None}) for turn in run.turns]
    return to_json(
        run.model_copy(update={"turns": bare, "conversations": [], "usage": type(run.usage)()})
    )


def html(run: Run) -> str:
    """The report."""
    from pipeline.lab.report.page import render

    return render(run)


def needs_jinja() -> None:
    """Raises ConfigError where reports cannot be made."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise ConfigError(
            "a report needs the package jinja2, which is not installed",
            "Run: pip install 'voxring[local]'",
        ) from None


WRITERS: dict[str, Callable[[Run], str]] = {
    "--json": to_json,
    "--jsonl": to_jsonl,
    "--csv": to_csv,
    "--junit": to_junit,
    "--report": html,
    "--save-baseline": slim,
}


def _config_of(suite: Suite, folder: Path) -> Path | None:
    """The suite's own configuration: a built-in one by name, or a file beside it."""
    if not suite.config:
        return None
    beside = folder / suite.config
    return beside if beside.suffix == ".toml" else Path(suite.config)


class Status:
    """A line that tells what goes on, on a terminal; a line for each turn that is over."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._status = stderr.status("", spinner="dots") if stderr.is_terminal else None
        self._shown = False

    def say(self, said: Said, repeat: int) -> None:
        """A clip begins."""
        if self._status is None:
            return
        when = f"{repeat} of {self._suite.repeats}" if repeat else "cold"
        self._status.update(Text(f"{said.key} ({when})"))
        if not self._shown:
            self._status.start()
            self._shown = True

    def turns(self, turns: Sequence[Turn]) -> None:
        """Turns are over."""
        self.end()
        for turn in turns:
            stdout.print(turn_line(turn), soft_wrap=True)

    def end(self) -> None:
        """Take the line away."""
        if self._status and self._shown:
            self._status.stop()
            self._shown = False
