"""`voxring doctor`: a look into a pipeline that runs."""

import sys
import time
from typing import Annotated

import typer

from ringbuf.inspect import arenas_of, describe


def doctor(
    arena: Annotated[
        int,
        typer.Option(
            "--arena", metavar="PID", help="A running voxring, or one of its stages.", min=1
        ),
    ],
) -> None:
    """Print the shared memory of a running pipeline: who sleeps, what waits, what was lost.

    Nothing is written to it, and nobody notices. For example:

    * `voxring doctor --arena 4711`
    """
    for found in arenas_of(arena):
        sys.stdout.write(describe(found, time.monotonic_ns()))
