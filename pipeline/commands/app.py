"""What every command shares: the application, its options, and how a mistake is told."""

import asyncio
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from pipeline import models
from pipeline.config import Config, builtin_configs, load_config
from pipeline.errors import AudioError, ConfigError, ModelError, OutputError, VoxringError
from pipeline.prepare import references
from ringbuf import RingError

P = ParamSpec("P")
R = TypeVar("R")
FAILED, MISTAKE, INTERRUPTED, TERMINATED = 1, 2, 130, 143
MISTAKES = (ConfigError, AudioError, OutputError)
EXIT_CODES = (
    "Exit codes: 0 done; 1 a stage, a model or a turn failed, a suite was not met, or a result "
    "could not be written; 2 a mistake in what was asked; 130 interrupted (Ctrl-C); 143 terminated."
)

app = typer.Typer(
    help="voxring: a person talks, a program answers by voice.\n\n"
    "Start with: voxring replay demos/question.wav --out answers",
    epilog=EXIT_CODES,
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
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


def complain(text: str) -> None:
    """Tell what is wrong, on one line of standard error."""
    line = Text.assemble(("error: ", "red"), " ".join(text.split()))
    stderr.print(line, highlight=False, soft_wrap=True)


def ask_for_command(context: typer.Context) -> None:
    """Show the help and end as a mistake where no command was given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        complain(f"no command was given. Try: {context.command_path} --help")
        raise typer.Exit(MISTAKE)


def load(path: Path | None, overrides: list[str] | None) -> Config:
    """A built-in configuration by name, or one by path, whose models have names that exist."""
    named = builtin_configs().get(str(path)) if path else None
    config = load_config(named or path, overrides or ())
    for key, reference in references(config).items():
        check_name(key, reference)
    return config


def check_name(key: str, reference: str) -> None:
    """Raises ConfigError, with the key, where a model cannot be called that."""
    try:
        models.check_name(reference)
    except ModelError as error:
        raise ConfigError(f"{key}: {error.message}", error.remedy) from None
