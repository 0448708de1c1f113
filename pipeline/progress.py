"""What the programs do while they start, on the terminal."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

UNTOLD = ("starting", "ready")  # seen on a terminal, too much in a log


class StartProgress:
    """A bar for each program on a terminal; elsewhere a line for each new step.

    Args:
        console: where to show it; standard error, so that results stay alone.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tasks: dict[str, TaskID] = {}
        self._last: dict[str, str] = {}
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[program]:>7}"),
            BarColumn(bar_width=24),
            TextColumn(
                "{task.description}", markup=False, table_column=Column(overflow="ellipsis")
            ),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._bars.stop()

    def __call__(self, program: str, text: str, fraction: float | None) -> None:
        """Show that `program` does `text` and how far it is, 0 to 1 or None."""
        if self._console.is_terminal:
            self._bar(program, text, fraction)
        elif text not in UNTOLD and self._last.get(program) != text:
            self._console.print(f"{program}: {text}", highlight=False, markup=False)
        self._last[program] = text

    def _bar(self, program: str, text: str, fraction: float | None) -> None:
        if program not in self._tasks:
            self._tasks[program] = self._bars.add_task(text, program=program, total=None)
        self._bars.update(
            self._tasks[program],
            description=text,
            total=None if fraction is None else 1.0,
            completed=fraction or 0.0,
        )
