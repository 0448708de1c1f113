"""`voxring top` on a terminal."""

from collections.abc import Iterable, Sequence
from statistics import median

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.top.snapshot import Lane, Program, Snapshot
from pipeline.top.state import ANSWERING, HEARING, HELD, PREPARING, WAITING

STYLES = {HEARING: "cyan", PREPARING: "yellow", WAITING: "yellow", ANSWERING: "green", HELD: "red"}
LATE_BEAT_S = 2.0  # a stage gives a sign of life every second
MOST_LANES = 40  # shown; the rest is counted
WIDE = 140  # columns that all of it takes


def render(snapshot: Snapshot, width: int) -> RenderableType:
    """Programs above, conversations below.

    Args:
        width: columns of the terminal; below WIDE some columns are left out.
    """
    shown, hidden = snapshot.open[:MOST_LANES], len(snapshot.open) - MOST_LANES
    parts: list[RenderableType] = [_head(snapshot), "", _programs(snapshot), ""]
    parts.append(_lanes(shown, width) if shown else Text("no conversation is open", style="dim"))
    if hidden > 0:
        parts.append(Text(f"and {hidden} more", style="dim"))
    return Group(*parts)


def _head(snapshot: Snapshot) -> Text:
    return Text(
        f"pipeline {snapshot.pid} · {len(snapshot.open)} of {snapshot.lanes} lanes open · "
        f"{snapshot.memory_mib:.1f} MiB of rings"
    )


def _table(columns: Iterable[str], left: Iterable[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=True)
    return table


def _programs(snapshot: Snapshot) -> Table:
    columns = ("program", "pid", "cpu %", "MiB", "state", "beat s", "restarts", "lost")
    table = _table(columns, left=("program", "state"))
    table.add_column("runs")  # the one column that gives way where it is narrow
    for program in snapshot.programs:
        table.add_row(*_program(program), _runs(snapshot, program.name))
    return table


def _runs(snapshot: Snapshot, name: str) -> Text:
    return Text(snapshot.models.get(name, ""), style="dim", no_wrap=True, overflow="ellipsis")


def _program(program: Program) -> tuple[str | Text, ...]:
    beat, is_late = program.beat_s, (program.beat_s or 0) > LATE_BEAT_S
    lost = program.recoveries + program.events_lost
    return (
        program.name,
        str(program.pid or "-"),
        _figure(program.cpu_percent, 1),
        _figure(program.memory_mib, 0),
        Text(program.state, style="red" if program.state == "dead" else ""),
        Text(_figure(beat, 1), style="red" if is_late else ""),
        Text(str(program.restarts), style="yellow" if program.restarts else ""),
        Text(str(lost), style="yellow" if lost else ""),
    )


def _lanes(lanes: Sequence[Lane], width: int) -> Table:
    names = [ring.name for ring in lanes[0].rings]
    rates = [f"{name}/s" for name in names if width >= WIDE]
    columns = ("lane", "state", "turn", "last turn", "ms", "median", *names, *rates, "dropped")
    table = _table(columns, left=("state", "last turn"))
    for lane in lanes:
        dropped = sum(ring.dropped for ring in lane.rings)
        latencies = lane.first_audio_ms
        table.add_row(
            str(lane.number),
            Text(lane.state, style=STYLES.get(lane.state, "dim")),
            str(lane.turn),
            lane.last or "-",
            _figure(latencies[-1] if latencies else None, 0),
            _figure(median(latencies) if latencies else None, 0),
            *(f"{ring.filled / ring.capacity:.0%}" for ring in lane.rings),
            *(f"{ring.rate_per_s:.0f}" for ring in lane.rings if rates),
            Text(str(dropped), style="red" if dropped else ""),
        )
    return table


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
