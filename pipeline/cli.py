"""The command line."""

import asyncio
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import tomli_w
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline import models
from pipeline.config import Config, builtin_configs, load_config
from pipeline.doctor import doctor
from pipeline.errors import AudioError, ConfigError, ModelError, OutputError, VoxringError
from pipeline.live_turn import LiveTurn
from pipeline.output import check_writable
from pipeline.pipeline import Pipeline
from pipeline.prepare import prepare_voice, references
from pipeline.progress import StartProgress
from pipeline.replay import Answer, Question, answer_files, read_question, replay
from pipeline.report import BAD, check_json, print_turn, render_summary, write_json
from pipeline.version import VERSION
from ringbuf import RingError

P = ParamSpec("P")
R = TypeVar("R")
FAILED, MISTAKE, INTERRUPTED, TERMINATED = 1, 2, 130, 143
MISTAKES = (ConfigError, AudioError, OutputError)
EXIT_CODES = (
    "Exit codes: 0 done; 1 a stage, a model or a turn failed, or a result could not be written; "
    "2 a mistake in what was asked; 130 interrupted (Ctrl-C); 143 terminated."
)
# What a wrong option or argument raises; typer exports only this child of it.
USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    help="voxring: a person talks, a program answers by voice.\n\n"
    "Start with: voxring replay demos/question.wav --out answers",
    epilog=EXIT_CODES,
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
models_app = typer.Typer(help="List, fetch and verify models.", invoke_without_command=True)
app.add_typer(models_app, name="models")
stdout = Console()
stderr = Console(stderr=True)

ConfigPath = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help=f"A TOML file, or a built-in one: {', '.join(builtin_configs())}.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Such as llm.max_new_tokens=40. May be repeated."
    ),
]
ModelNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Bundles, hub ids or paths; none: the defaults."),
]


def plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Tell a user's mistake in one line, without a traceback."""

    @wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (VoxringError, RingError) as error:
            complain(str(error))
            raise typer.Exit(MISTAKE if isinstance(error, MISTAKES) else FAILED) from None
        except KeyboardInterrupt:
            stderr.print("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except asyncio.CancelledError:
            stderr.print("terminated")
            raise typer.Exit(TERMINATED) from None

    return wrapper


@app.callback()
def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Show the version, or the help where nothing is asked."""
    if version:
        stdout.print(VERSION, highlight=False)
        raise typer.Exit
    _ask_for_command(context)


@models_app.callback()
def models_top(context: typer.Context) -> None:
    """Show the help where nothing is asked."""
    _ask_for_command(context)


@app.command("replay")
@plainly
def replay_command(
    clips: Annotated[
        list[Path], typer.Argument(metavar="CLIP", help="WAV, FLAC or MP3 files with speech.")
    ],
    config: ConfigPath = None,
    overrides: Overrides = None,
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="How often each clip is played.")
    ] = 1,
    warmup: Annotated[
        int, typer.Option(min=0, metavar="N", help="Turns before that, not reported.")
    ] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the answers, as WAV.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the figures, as JSON.")
    ] = None,
) -> None:
    """Play recorded questions at real-time pace and show where each millisecond went.

    For example:

    * `voxring replay demos/question.wav --out answers`

    * `voxring replay a.wav b.mp3 --repeat 10 --json result.json`

    * `voxring replay a.wav --set turn.release_ms=400`
    """
    settings = _load(config, overrides)
    questions = [read_question(clip) for clip in clips]
    if out:
        answer_files(questions, repeat, out)
        check_writable(out, "--out")
    if json:
        check_json(json)
    answers: list[Answer] = []
    try:
        asyncio.run(_replay(settings, questions, repeat, warmup, out, answers))
    finally:
        written = _conclude(answers, json)
    if not written or any(answer.outcome in BAD or answer.faults for answer in answers):
        raise typer.Exit(FAILED)


@app.command("config")
@plainly
def config_command(config: ConfigPath = None, overrides: Overrides = None) -> None:
    """Print the effective configuration, as TOML.

    For example:

    * `voxring config`

    * `voxring config --config laptop --set tts.speed=1.2 > mine.toml`
    """
    sys.stdout.write(tomli_w.dumps(_load(config, overrides).model_dump()))


app.command("doctor")(plainly(doctor))


@app.command("version")
def version_command() -> None:
    """Print the version."""
    stdout.print(VERSION, highlight=False)


@models_app.command("list")
@plainly
def list_models() -> None:
    """List the bundles and whether they are in the cache."""
    stdout.print(f"models in {models.cache_root()}", markup=False, highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("MB", justify="right", no_wrap=True)
    table.add_column("what it is, and its licence")
    for bundle in models.catalogue():
        state = models.state(bundle)
        style = "green" if state is models.State.READY else "yellow"
        about = Text.assemble(bundle.about, (f"; {bundle.licence}", "dim"))
        size = f"{bundle.size / 1e6:.0f}"
        table.add_row(bundle.name, Text(state.value, style), size, about)
    stdout.print(table)


@models_app.command("fetch")
@plainly
def fetch_models(
    names: ModelNames = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is there.")] = False,
) -> None:
    """Bring models into the cache.

    For example:

    * `voxring models fetch`

    * `voxring models fetch whisper-base Systran/faster-whisper-small.en`
    """
    for name in _checked(names):
        with StartProgress(stderr) as progress:
            path = models.fetch(name, lambda t, f: progress("models", t, f), force=force)
            prepare_voice(path, lambda t, f: progress("models", t, f))
        stdout.print(f"{name}: {path}", markup=False, highlight=False, soft_wrap=True)


@models_app.command("verify")
@plainly
def verify_models(names: ModelNames = None) -> None:
    """Check every byte of models in the cache against their SHA-256.

    For example:

    * `voxring models verify whisper-tiny.en`
    """
    for name in _checked(names):
        with StartProgress(stderr) as progress:
            models.verify(name, lambda t, f: progress("models", t, f))
        stdout.print(f"{name}: good", markup=False, highlight=False)


def complain(text: str) -> None:
    """Tell what is wrong, on one line of standard error."""
    line = Text.assemble(("error: ", "red"), " ".join(text.split()))
    stderr.print(line, highlight=False, soft_wrap=True)


def main() -> int:
    """Run the command line.

    Returns:
        The exit code; see EXIT_CODES.
    """
    try:
        code = app(standalone_mode=False)
    except USAGE_ERROR as error:
        complain(_usage(error))
        return MISTAKE
    return code if isinstance(code, int) else 0


def _usage(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "voxring"
    return f"{error.format_message().rstrip('.')}. Try: {command} --help"


def _ask_for_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        complain(f"no command was given. Try: {context.command_path} --help")
        raise typer.Exit(MISTAKE)


async def _replay(
    config: Config,
    questions: list[Question],
    repeat: int,
    warmup: int,
    out: Path | None,
    answers: list[Answer],
) -> None:
    """Fill `answers`; a SIGTERM cancels it, as Ctrl-C does."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with StartProgress(stderr) as progress:
        pipeline = Pipeline(config, progress)
        await pipeline.__aenter__()
    try:
        with LiveTurn(stderr, repeat) as live:

            def tell(answer: Answer) -> None:
                live.end()
                answers.append(answer)
                print_turn(stdout, answer)

            if warmup:
                await replay(
                    pipeline,
                    questions[:1],
                    repeat=warmup,
                    on_question=live.begin,
                    on_event=live.take,
                )
            await replay(
                pipeline,
                questions,
                repeat=repeat,
                out=out,
                on_question=live.begin,
                on_event=live.take,
                on_answer=tell,
            )
    finally:
        await pipeline.__aexit__(None, None, None)


def _conclude(answers: list[Answer], json: Path | None) -> bool:
    """Show the summary of what there is and write it; False if it could not be written."""
    if answers:
        stdout.print(render_summary(answers))
    try:
        if json and answers:
            write_json(json, answers)
    except OutputError as error:
        complain(str(error))
        return False
    return True


def _load(path: Path | None, overrides: list[str] | None) -> Config:
    """A built-in configuration by name, or one by path, whose models have names that exist."""
    named = builtin_configs().get(str(path)) if path else None
    config = load_config(named or path, overrides or ())
    for key, reference in references(config).items():
        _check_name(key, reference)
    return config


def _checked(names: list[str] | None) -> list[str]:
    """The models that were named, or the defaults; all are checked before anything is done."""
    if not names:
        return list(references(Config()).values())
    for name in names:
        _check_name("models", name)
    return names


def _check_name(key: str, reference: str) -> None:
    try:
        models.check_name(reference)
    except ModelError as error:
        raise ConfigError(f"{key}: {error.message}", error.remedy) from None
