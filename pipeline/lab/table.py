"""A run as a terminal shows it."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.lab.run import Run, Turn, samples
from pipeline.lab.steps import longest
from pipeline.report import summarize
from pipeline.terminal.words import clean


def turn_line(turn: Turn) -> RenderableType:
    """A turn as one line: how it ended, how soon, and what took longest."""
    style = "green" if turn.outcome == "answered" else "red" if turn.is_broken else "yellow"
    line = Text.assemble(
        (turn.name, "bold"),
        f" {turn.repeat}" if turn.warm else " cold",
        " · ",
        (turn.outcome, style),
    )
    if turn.first_audio_ms is not None:
        line.append(f" · {turn.first_audio_ms:.0f} ms")
        if step := longest(turn.steps):
            line.append(f", longest {step.name} {step.took_ms:.0f}", "dim")
    if turn.silent_ms is not None:
        line.append(f" · silent after {turn.silent_ms:.0f} ms")
    if turn.cut_off or turn.false_cut_offs:
        line.append(" · cut off", "yellow")
    for error in turn.errors:
        line.append(f" · {clean(error)}", "red")
    return line


def run_table(run: Run) -> RenderableType:
    """First-audio latency of each turn, warm and cold apart."""
    table = Table()
    table.add_column("turn", overflow="fold")
    for column in ("p50", "p95", "max", "n", "cold"):
        table.add_column(column, justify="right", no_wrap=True)
    for key in run.keys:
        _row(table, key, run.of(key, warm=True), run.of(key, warm=False))
    if len(run.keys) > 1:
        table.add_section()
        warm = [turn for turn in run.turns if turn.warm]
        _row(table, "all", warm, [turn for turn in run.turns if not turn.warm])
    return Group(Text("first audio, ms after the end of speech", "italic"), table)


def _row(table: Table, name: str, warm: Sequence[Turn], cold: Sequence[Turn]) -> None:
    summary = summarize(samples(warm))
    cells = [
        "-" if summary[key] is None else f"{summary[key]:.0f}" for key in ("p50", "p95", "max")
    ]
    first = samples(cold)
    cells += [str(summary["n"]), f"{max(first):.0f}" if first else "-"]
    table.add_row(Text(name), *cells)
