"""Where a conversation is shown: a terminal with a live picture at its bottom, or plain lines."""

import contextlib
import os
import sys
from io import TextIOWrapper
from typing import Protocol, TextIO

from rich.console import Console
from rich.live import Live

from pipeline.errors import VoxringError
from pipeline.terminal.entry import Entry
from pipeline.terminal.paint import paint
from pipeline.terminal.plain import lines
from pipeline.terminal.screen import Moment, Screen


class Display(Protocol):
    """What a conversation needs of either."""

    is_live: bool

    def show(self, entry: Entry, moment: Moment | None = None) -> None:
        """Something that stays, and what goes on then. Raises VoxringError if it cannot be."""

    def draw(self, moment: Moment) -> None:
        """What is going on."""

    def stop(self) -> None:
        """Take away what is going on; safe to call at any time, and `draw` begins again."""


class Picture:
    """What stays scrolls up; below it is what goes on. A terminal that is gone sees nothing.

    Args:
        console: a terminal that can move its cursor.
    """

    is_live = True

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._seen: Moment | None = None

    def show(self, entry: Entry, moment: Moment | None = None) -> None:
        """Print it above the picture, which changes before: nothing is seen twice."""
        if self._live and moment:
            self.draw(moment)
        with contextlib.suppress(OSError):
            self._console.print(paint(entry))

    def draw(self, moment: Moment) -> None:
        """Change the picture, if that can be seen."""
        if moment.seen == self._seen:
            return
        self._seen = moment.seen
        with contextlib.suppress(OSError):
            if self._live is None:
                self._live = Live(console=self._console, auto_refresh=False, transient=True)
                self._live.start()
            self._live.update(Screen(moment), refresh=True)

    def stop(self) -> None:
        """Leave only what stays, and the cursor behind it."""
        if self._live:
            with contextlib.suppress(OSError):
                self._live.stop()
        self._live = self._seen = None


class PlainLines:
    """Each line is written at once, for whoever follows a file or a pipe.

    Args:
        file: standard output.
    """

    is_live = False

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def show(self, entry: Entry, moment: Moment | None = None) -> None:
        """Write its lines."""
        try:
            self._file.writelines(f"{line}\n" for line in lines(entry))
            self._file.flush()
        except OSError as error:
            let_go_of(self._file.fileno())
            raise VoxringError(f"standard output cannot be written: {error.strerror}") from None

    def draw(self, moment: Moment) -> None:
        """Nothing: it would not stay."""

    def stop(self) -> None:
        """Nothing to take away."""


def display_for(console: Console) -> Display:
    """The picture, where standard output is a terminal that can show one.

    People and models say what not every terminal can write: that becomes a question mark.
    """
    if isinstance(console.file, TextIOWrapper):
        console.file.reconfigure(errors="replace")
    # Not `console.is_terminal` alone: FORCE_COLOR makes a pipe one.
    if console.is_terminal and console.file.isatty() and not console.is_dumb_terminal:
        return Picture(console)
    return PlainLines(sys.stdout)


def let_go_of(fd: int) -> None:
    """What is left in its buffer must not fail once more when the program ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, fd)
    os.close(nowhere)
