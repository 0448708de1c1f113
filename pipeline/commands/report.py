"""`voxring report`: a run as a page to look at."""

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands.app import app, plainly, stdout
from pipeline.output import write_text


@app.command("report")
@plainly
def report_command(
    run: Annotated[
        Path, typer.Argument(metavar="RUN.json", help="What `voxring replay --json` has written.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The page; by default beside the run."),
    ] = None,
    open_it: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open",
            help="Open it in the browser; by default on a desktop's terminal.",
        ),
    ] = None,
) -> None:
    """Make a report of a run: one HTML file that needs no network.

    For example:

    * `voxring report run.json`

    * `voxring report run.json -o report.html --no-open`
    """
    from pipeline.commands.suite import html, needs_jinja  # it takes a while to import
    from pipeline.lab.run import read_run

    needs_jinja()
    page = out or run.with_suffix(".html")
    write_text(page, html(read_run(run)), "--out")
    stdout.print(str(page), highlight=False, soft_wrap=True)
    if _is_watched() if open_it is None else open_it:
        webbrowser.open(page.absolute().as_uri())


def _is_watched() -> bool:
    """Whether somebody sits there who has a browser with windows.

    Without a display, `webbrowser` would start one that takes the terminal.
    """
    shown = sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return shown and sys.stdout.isatty()
