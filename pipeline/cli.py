"""The command line: all commands, and how one ends."""

from typing import Annotated, Any

import typer

from pipeline.commands import (  # noqa: F401 - each adds its command
    bench,
    config,
    devices,
    models,
    replay,
    report,
    serve,
    talk,
    top,
)
from pipeline.commands.app import MISTAKE, app, ask_for_command, complain, plainly, stdout
from pipeline.doctor import doctor
from pipeline.version import VERSION

# What a wrong option or argument raises; typer exports only this child of it.
USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]


@app.callback()
def voxring(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Show the version, or the help where nothing is asked."""
    if version:
        stdout.print(VERSION, highlight=False)
        raise typer.Exit
    ask_for_command(context)


app.command("doctor")(plainly(doctor))


@app.command("version")
def version_command() -> None:
    """Print the version."""
    stdout.print(VERSION, highlight=False)


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
