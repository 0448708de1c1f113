"""`voxring models`: list, fetch and verify them."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pipeline import models
from pipeline.commands.app import app, ask_for_command, check_name, plainly, stderr, stdout
from pipeline.config import Config
from pipeline.prepare import prepare_voice, references
from pipeline.progress import StartProgress

models_app = typer.Typer(help="List, fetch and verify models.", invoke_without_command=True)
app.add_typer(models_app, name="models")

ModelNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Bundles, hub ids or paths; none: the defaults."),
]


@models_app.callback()
def models_top(context: typer.Context) -> None:
    """Show the help where nothing is asked."""
    ask_for_command(context)


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


def _checked(names: list[str] | None) -> list[str]:
    """The models that were named, or the defaults; all are checked before anything is done."""
    if not names:
        return list(references(Config()).values())
    for name in names:
        check_name("models", name)
    return names
