"""The command line.

Exit codes: 0 done; 1 a stage or a turn failed; 2 a mistake in what was asked (a file, a key, a
value); 130 interrupted.
"""

import asyncio
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

import tomli_w
import typer
from rich.console import Console
from rich.table import Table

from pipeline import models
from pipeline.config import Config, builtin_configs, load_config
from pipeline.errors import AudioError, ConfigError, OutputError, VoxringError
from pipeline.pipeline import Pipeline
from pipeline.progress import StartProgress
from pipeline.replay import Answer, Question, make_folder, read_question, replay
from pipeline.report import print_turn, render_summary, write_json
from pipeline.version import VERSION
from ringbuf import RingError
from stages.outcome import Outcome

P = ParamSpec("P")
R = TypeVar("R")
FAILED, MISTAKE, INTERRUPTED = 1, 2, 130
MISTAKES = (ConfigError, AudioError, OutputError)
BAD_OUTCOMES = (Outcome.FAILED, Outcome.TIMED_OUT)

app = typer.Typer(
    help="voxring: a person talks, a program answers by voice. "
    "Start with: voxring replay demos/question.wav --out answers",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
models_app = typer.Typer(help="List, fetch and verify models.", no_args_is_help=True)
app.add_typer(models_app, name="models")
stdout = Console()
stderr = Console(stderr=True)

ConfigPath = Annotated[
    Path | None, typer.Option("--config", help="A TOML file, or the name of a built-in one.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="section.key=value, for example llm.max_new_tokens=40. Repeatable."),
]


def plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Tell a user's mistake in one line, without a traceback."""

    @wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (VoxringError, RingError) as error:
            stderr.print(f"[red]error:[/red] {error}", highlight=False, soft_wrap=True)
            raise typer.Exit(MISTAKE if isinstance(error, MISTAKES) else FAILED) from None
        except KeyboardInterrupt:
            stderr.print("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return wrapper


@app.command("replay")
@plainly
def replay_command(
    clips: Annotated[list[Path], typer.Argument(help="WAV, FLAC or MP3 files with speech.")],
    config: ConfigPath = None,
    overrides: Overrides = None,
    repeat: Annotated[int, typer.Option(min=1, help="How often each clip is played.")] = 1,
    warmup: Annotated[int, typer.Option(min=0, help="Turns before that, not reported.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the answers, as WAV.")] = None,
    json: Annotated[Path | None, typer.Option(help="File for the figures.")] = None,
) -> None:
    """Play recorded questions at real-time pace and show where each millisecond went.

    Examples:
    * voxring replay demos/question.wav --out answers

    * voxring replay a.wav b.flac --repeat 10 --json result.json --set turn.release_ms=400
    """
    settings = _load(config, overrides)
    questions = [read_question(clip) for clip in clips]
    if out:
        make_folder(out)
    answers = asyncio.run(_replay(settings, questions, repeat, warmup, out))
    stdout.print(render_summary(answers))
    if json:
        write_json(json, answers)
    if any(a.outcome in BAD_OUTCOMES or a.faults for a in answers):
        raise typer.Exit(FAILED)


@app.command("config")
@plainly
def config_command(config: ConfigPath = None, overrides: Overrides = None) -> None:
    """Print the effective configuration, as TOML.

    Examples:
    * voxring config

    * voxring config --config laptop --set tts.speed=1.2 > mine.toml
    """
    sys.stdout.write(tomli_w.dumps(_load(config, overrides).model_dump()))


@app.command("version")
def version_command() -> None:
    """Print the version."""
    stdout.print(VERSION)


@models_app.command("list")
@plainly
def list_models() -> None:
    """List the bundles and whether they are in the cache."""
    table = Table(title=f"models in {models.cache_root()}", title_justify="left")
    for column in ("name", "state", "MB", "licence", "what it is"):
        table.add_column(column)
    for bundle in models.catalogue():
        table.add_row(
            bundle.name,
            models.state(bundle).value,
            f"{bundle.size / 1e6:.0f}",
            bundle.licence,
            bundle.about,
        )
    stdout.print(table)


@models_app.command("fetch")
@plainly
def fetch_models(
    names: Annotated[
        list[str] | None, typer.Argument(help="Bundles, hub ids or paths; none: the defaults.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Fetch again what is there.")] = False,
) -> None:
    """Bring models into the cache.

    Examples:
    * voxring models fetch

    * voxring models fetch bundle:whisper-base Systran/faster-whisper-small.en
    """
    for name in names or _default_models():
        with StartProgress(stderr) as progress:
            path = models.fetch(name, lambda t, f: progress("models", t, f), force=force)
        stdout.print(f"{name}: {path}", highlight=False, soft_wrap=True)


@models_app.command("verify")
@plainly
def verify_models(
    names: Annotated[
        list[str] | None, typer.Argument(help="Bundles, hub ids or paths; none: the defaults.")
    ] = None,
) -> None:
    """Check every byte of models in the cache against their SHA-256.

    Example: voxring models verify bundle:whisper-tiny.en
    """
    for name in names or _default_models():
        with StartProgress(stderr) as progress:
            models.verify(name, lambda t, f: progress("models", t, f))
        stdout.print(f"{name}: good", highlight=False)


def main() -> None:
    """Run the command line."""
    app()


async def _replay(
    config: Config, questions: list[Question], repeat: int, warmup: int, out: Path | None
) -> list[Answer]:
    with StartProgress(stderr) as progress:
        pipeline = Pipeline(config, progress)
        await pipeline.__aenter__()
    try:
        if warmup:
            await replay(pipeline, questions[:1], repeat=warmup)
        return await replay(
            pipeline,
            questions,
            repeat=repeat,
            out=out,
            on_answer=lambda answer: print_turn(stdout, answer),
        )
    finally:
        await pipeline.__aexit__(None, None, None)


def _load(path: Path | None, overrides: list[str] | None) -> Config:
    """A built-in configuration by name, or one by path."""
    named = builtin_configs().get(str(path)) if path else None
    return load_config(named or path, overrides or ())


def _default_models() -> list[str]:
    config = Config()
    return [config.asr.model, config.llm.model, config.tts.model]
