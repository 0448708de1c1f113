"""`voxring doctor`: a look into a pipeline that runs, or at one turn of the language model."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pipeline import llm_doctor
from pipeline.config import builtin_configs, load_config
from pipeline.errors import ConfigError
from ringbuf.inspect import arenas_of, describe


def doctor(
    arena: Annotated[
        int | None,
        typer.Option(
            "--arena", metavar="PID", help="A running voxring, or one of its stages.", min=1
        ),
    ] = None,
    llm: Annotated[
        bool, typer.Option("--llm", help="Profile one turn of the language model.")
    ] = False,
    config: Annotated[
        str,
        typer.Option("--config", metavar="FILE", help="Of the language model."),
    ] = "laptop",
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Such as llm.threads=1. May be repeated."),
    ] = None,
) -> None:
    """Print what is going on, and what is wrong.

    `--arena` prints the shared memory of a running pipeline: who sleeps, what waits, what was lost.
    Nothing is written to it, and nobody notices. `--llm` lets the configured language model answer
    two turns, alone, and prints each finding with its likely cause and what mends it.

    For example:

    * `voxring doctor --arena 4711`

    * `voxring doctor --llm --set llm.quantization=int4`
    """
    if (arena is None) == (not llm):
        raise ConfigError("doctor looks at one thing", "Give either --arena PID or --llm")
    if arena is not None:
        for found in arenas_of(arena):
            sys.stdout.write(describe(found, time.monotonic_ns()))
        return
    path = builtin_configs().get(config, Path(config))
    llm_doctor.show(Console(), llm_doctor.diagnose(load_config(path, overrides or [])))
