"""`voxring doctor`: this machine, a pipeline that runs, or one turn of the language model."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pipeline import llm_doctor, machine_doctor
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
        typer.Option("--config", metavar="FILE", help="What would be run."),
    ] = "laptop",
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Such as llm.threads=1. May be repeated."),
    ] = None,
) -> None:
    """Print what is going on, and what is wrong.

    Without an option it looks at this machine and this installation: cores and limits, shared
    memory, heat, models, sound devices, foreign packages. Each finding that is bad comes with its
    likely cause, what mends it, and its row of docs/troubleshooting.md.

    `--arena` prints the shared memory of a running pipeline: who sleeps, what waits, what was lost.
    Nothing is written to it, and nobody notices. `--llm` lets the configured language model answer
    two turns, alone, and prints findings of the same kind.

    For example:

    * `voxring doctor`

    * `voxring doctor --arena 4711`

    * `voxring doctor --llm --set llm.quantization=int4`
    """
    if arena is not None and llm:
        raise ConfigError("doctor looks at one thing", "Give --arena PID, --llm, or neither")
    if arena is not None:
        for found in arenas_of(arena):
            sys.stdout.write(describe(found, time.monotonic_ns()))
        return
    settings = load_config(builtin_configs().get(config, Path(config)), overrides or [])
    look = llm_doctor.diagnose if llm else machine_doctor.diagnose
    llm_doctor.show(Console(), look(settings))
