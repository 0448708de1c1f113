"""`voxring top`: what a running pipeline does, without disturbing it."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from pipeline.commands.app import app, plainly, stdout
from pipeline.top.programs import find_pipeline, programs_of
from pipeline.top.screen import WIDE, render
from pipeline.top.snapshot import Snapshot
from pipeline.top.watcher import Watcher
from ringbuf.inspect import arena_of
from stages.topology import CONTROL

LOOK_S = 1.0  # between the two looks of --once, so that there are rates


@app.command("top")
@plainly
def top_command(
    pid: Annotated[
        int | None,
        typer.Argument(
            metavar="PID",
            min=1,
            help="A running voxring, or one of its stages; else the only one.",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print one look and end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A line of JSON for each look.")] = False,
    interval: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Between two looks.")
    ] = 1.0,
) -> None:
    """Show lanes, rings, latencies and what each program costs, until Ctrl-C.

    It only reads: the pipeline does not notice. A lane's state is listening, hearing (the user),
    preparing (an answer is written that may not be heard yet), waiting (for its sound), answering,
    or held (a voice came over it). "ms" is the last first-audio latency. Of rings it shows
    how full they are and, where there is room, what they carry a second; "dropped" counts slots
    that found no room, "lost" wake-ups and records that went astray. Linux only.

    For example:

    * `voxring top`

    * `voxring top 4711 --once`

    * `voxring top --json --interval 5 >> top.jsonl`
    """
    owner = find_pipeline() if pid is None else programs_of(pid)[CONTROL]
    with arena_of(owner) as arena:
        watcher = Watcher(owner, arena, time.monotonic_ns)
        looks = one_look(watcher) if once else looks_of(watcher, interval)
        if json:
            for snapshot in looks:
                sys.stdout.write(snapshot.json + "\n")
                sys.stdout.flush()
        elif once:
            for snapshot in looks:
                console().print(render(snapshot, console().width))
        else:
            show(looks)


def console() -> Console:
    """The terminal; a file has room for all columns."""
    return stdout if stdout.is_terminal else Console(width=WIDE)


def one_look(watcher: Watcher) -> Iterator[Snapshot]:
    """One, after a first that the rates are counted from."""
    watcher.look()
    time.sleep(LOOK_S)
    yield watcher.look()


def looks_of(watcher: Watcher, interval: float) -> Iterator[Snapshot]:
    """One after the other, until the pipeline ends."""
    while not watcher.is_over:
        yield watcher.look()
        time.sleep(interval)


def show(looks: Iterator[Snapshot]) -> None:
    """Each look in place of the last one; where that cannot be, one below the other."""
    if not stdout.is_terminal:
        for snapshot in looks:
            console().print(render(snapshot, WIDE))
        return
    with (
        contextlib.suppress(KeyboardInterrupt),  # the way to end it
        Live(console=stdout, auto_refresh=False, screen=True) as live,
    ):
        for snapshot in looks:
            live.update(render(snapshot, stdout.width), refresh=True)
