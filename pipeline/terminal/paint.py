"""What stays of a conversation, for a terminal: pure."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.terminal.entry import CUT, Entry, Note

LABEL = 9  # characters before a text
WHO = {"you": "bold cyan", "voxring": "bold green"}


def paint(entry: Entry) -> RenderableType:
    """An entry with its labels; an exchange ends with an empty line."""
    if isinstance(entry, Note):
        return labelled("note", Text(entry.text, "red" if entry.is_trouble else "yellow"))
    rows: list[RenderableType] = []
    if entry.user:
        rows.append(labelled("you", Text(entry.user)))
    if entry.answer or entry.remark:
        rows.append(labelled("voxring", _answer(entry.answer, entry.remark, cut=entry.is_cut)))
    if entry.latency:
        rows.append(labelled(entry.latency, Text(entry.phases, "dim")))
    return Group(*rows, Text())


def labelled(label: str, text: Text) -> RenderableType:
    """A text that stands clear of its label, however many lines it takes."""
    grid = Table.grid()
    grid.add_column(width=LABEL, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label, WHO.get(label, "dim")), text)
    return grid


def _answer(heard: str, remark: str, *, cut: bool) -> Text:
    text = Text(heard)
    if cut:
        text.append(f" {CUT}")
    if remark:
        text.append(f"{' ' * bool(heard)}({remark})", "dim")
    return text
