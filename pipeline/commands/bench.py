"""`voxring bench`: every figure that voxring claims, measured again on this machine."""

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.commands.app import app, plainly, stderr, stdout
from pipeline.errors import ConfigError

CLONE = "Clone the project, install it there with pip install -e '.[local,dev]', and run it there"


@app.command("bench")
@plainly
def bench_command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs: at most three minutes each.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this one. May be repeated.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For the results (default: bench-quick or bench-full)."),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Replace the project's own results, and the tables in docs/."
        ),
    ] = False,
    names: Annotated[bool, typer.Option("--list", help="Say what there is, and end.")] = False,
) -> None:
    """Run the benchmarks, one after the other, and say which bars they miss.

    Each writes its figures as JSON, with machine, versions and load, and what it prints as text.
    One that fails does not stop the others; the exit code is then 1. One that this machine cannot
    run is skipped. A missed bar is told and is no failure. All of them take hours, `--quick` about
    forty minutes. The benchmarks are not in the installed package: it takes a checkout.

    For example:

    * `voxring bench --list`

    * `voxring bench --quick --only ring --only overhead`

    * `voxring bench --record`
    """
    suite = load_suite()
    if names:
        stdout.print(suite.listing())
        return
    code: int = suite.run(only or (), out, stderr, quick=quick, record=record)
    raise typer.Exit(code)


def load_suite() -> Any:
    """`benchmarks.suite` of the checkout that this is.

    Raises:
        ConfigError: this is an installed package, or what the benchmarks take is not installed.
    """
    root = Path(__file__).parents[2]
    if not (root / "benchmarks" / "suite.py").is_file():
        raise ConfigError("the benchmarks are not part of the installed package", CLONE)
    sys.path.insert(0, str(root))
    try:
        return importlib.import_module("benchmarks.suite")
    except ModuleNotFoundError as error:
        raise ConfigError(f"the benchmarks need {error.name}", CLONE) from error
