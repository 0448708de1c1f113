"""Writes benchmarks/results into the README and docs/, between their markers."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import asr_sweep, end_of_turn
from benchmarks.command import MISTAKE, figure
from benchmarks.highlights import highlights, recording
from benchmarks.metrics import ASR, ASR_SWEEP, BENCHMARKS, END_OF_TURN, Bar, Benchmark
from benchmarks.result import Figure, Result

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
ASR_PAGE = ROOT / "docs" / "asr.md"
END_OF_TURN_PAGE = ROOT / "docs" / "end-of-turn.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- {}: written by `python -m benchmarks.tables`, not by hand -->"
END = "<!-- end of {} -->"
LOADS = ("before", "after")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description=__doc__,
        epilog="example: python -m benchmarks.tables",
    )
    parser.parse_args(arguments)
    try:
        for path, page in pages().items():
            path.write_text(page, encoding="utf-8")
            sys.stderr.write(f"{path.relative_to(ROOT)} is up to date\n")
    except ValueError as error:
        parser.exit(MISTAKE, f"error: {error}\n")
    return 0


def pages() -> dict[Path, str]:
    """Every page that shows results, as it should be.

    Raises:
        ValueError: a page lacks its markers.
    """
    results = read_results(RESULTS)
    readme = README.read_text(encoding="utf-8")
    readme = insert(readme, highlights(results), "results")
    asr = ASR_PAGE.read_text(encoding="utf-8")
    asr = insert(asr, values(ASR, {n: r for n, r in results.items() if n == ASR.name}), "asr")
    turn = END_OF_TURN_PAGE.read_text(encoding="utf-8")
    return {
        ASR_PAGE: insert(asr, sweep(results), "sweep"),
        END_OF_TURN_PAGE: insert(turn, ends(results), "end_of_turn"),
        PAGE: insert(PAGE.read_text(encoding="utf-8"), generate(results), "results"),
        README: insert(insert(readme, recording("replay"), "recording"), recording("talk"), "talk"),
        ARCHITECTURE: insert(ARCHITECTURE.read_text(encoding="utf-8"), recording("drill"), "drill"),
    }


def read_results(folder: Path) -> dict[str, Result]:
    """Every result of a folder, by the name of its file."""
    return {path.stem: Result.read(path) for path in sorted(folder.glob("*.json"))}


def insert(page: str, text: str, name: str) -> str:
    """A page with a new text between the markers of that name.

    Raises:
        ValueError: the markers are not there, once each and in order.
    """
    begin, end = BEGIN.format(name), END.format(name)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page needs one line {begin!r} and, after it, one line {end!r}")
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n\n{text}\n\n{end}{tail}"


def generate(results: dict[str, Result]) -> str:
    """All tables, as Markdown."""
    return "\n\n".join(
        section(benchmark, {n: r for n, r in results.items() if r.benchmark == benchmark.name})
        for benchmark in BENCHMARKS
        if benchmark not in (ASR_SWEEP, END_OF_TURN)  # their tables are on pages of their own
    )


def sweep(results: dict[str, Result]) -> str:
    """The sweep of the recogniser's settings."""
    result = results.get(ASR_SWEEP.name)
    return asr_sweep.table(result) if result else "No result is committed yet."


def ends(results: dict[str, Result]) -> str:
    """What the end-of-turn model takes for an end, what that costs, and how it was measured."""
    result = results.get(END_OF_TURN.name)
    if result is None:
        return "No result is committed yet."
    costs = [
        [f"`{name}`", END_OF_TURN.find(name).meaning, figure(result.metrics[name])]
        for name in end_of_turn.COSTS
    ]
    return "\n\n".join(
        (
            end_of_turn.table(result),
            markdown(["metric", "meaning", "value"], costs),
            runs(END_OF_TURN, {END_OF_TURN.name: result}),
        )
    )


def section(benchmark: Benchmark, results: dict[str, Result]) -> str:
    """One benchmark: its metrics with a column for each result, then how those came about."""
    parts = [f"### `{benchmark.name}`", benchmark.question, values(benchmark, results)]
    if results:
        parts.append(runs(benchmark, results))
    else:
        parts.append("No result is committed yet.")
    return "\n\n".join(parts)


def values(benchmark: Benchmark, results: dict[str, Result]) -> str:
    """Metrics, meanings, bars and figures."""
    names = {metric.name: None for metric in benchmark.metrics}
    for result in results.values():
        names |= dict.fromkeys(result.metrics)
    rows = []
    for name in benchmark.ordered(names):
        metric = benchmark.find(name)
        bar, meaning = (metric.bar, metric.meaning) if name == metric.name else (None, "")
        cells = [cell(result.metrics.get(name), bar) for result in results.values()]
        rows.append([f"`{name}`", meaning, str(bar or ""), *cells])
    return markdown(["metric", "meaning", "bar", *results], rows)


def cell(value: Figure, bar: Bar | None) -> str:
    """A figure, and whether it misses its bar."""
    missed = value is not None and bar is not None and not bar.holds(value)
    return f"{figure(value)} **missed**" if missed else figure(value)


def runs(benchmark: Benchmark, results: dict[str, Result]) -> str:
    """What each result was taken on and how."""
    rows = []
    for name, result in results.items():
        machine = result.machine
        load = " → ".join(figure(result.load[when][0]) for when in LOADS)
        hardware = f"{machine['processor']}, {machine['cores']} cores"
        software = f"Python {machine['python']}, " + ", ".join(
            f"{package} {version}" for package, version in result.versions.items()
        )
        settings = ", ".join(f"{key} {plain(value)}" for key, value in result.settings.items())
        rows.append([name, str(result.n), hardware, load, settings, software])
    columns = ["result", f"n ({benchmark.n})", "hardware", "load", "settings", "software"]
    return markdown(columns, rows)


def plain(value: object) -> str:
    """A setting as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines
    )


if __name__ == "__main__":
    sys.exit(main())
