"""What the command lines of all benchmarks share."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.metrics import BENCHMARKS, Benchmark
from benchmarks.result import Figure, Result
from pipeline.config import Config, builtin_configs, load_config
from pipeline.errors import AudioError, ConfigError, OutputError, VoxringError

FAILED, MISTAKE, INTERRUPTED = 1, 2, 130  # exit codes, those of `voxring`


def make_parser(benchmark: Benchmark, about: str | None, example: str) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has.

    Args:
        about: the module's docstring.
        example: arguments after the benchmark's name.
    """
    command = f"python -m benchmarks.{benchmark.name}"
    parser = argparse.ArgumentParser(
        prog=command,
        description=about,
        epilog=f"example: {command} {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--quick", action="store_true", help="a short run: within 3 minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    return parser


def add_config_options(parser: argparse.ArgumentParser) -> None:
    """Options of a benchmark that runs a pipeline."""
    parser.add_argument(
        "--config", default="laptop", help="a TOML file, or a built-in name (default: laptop)"
    )
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override one value, for example turn.release_ms=400; repeatable",
    )


def read_config(options: argparse.Namespace, *settings: str) -> Config:
    """The configuration that `add_config_options` asked for.

    Args:
        settings: of the benchmark itself, as `--set` has them; what was asked for wins.

    Raises:
        ConfigError: it is wrong.
    """
    path = builtin_configs().get(options.config, Path(options.config))
    return load_config(path, [*settings, *options.overrides])


def positive(text: str) -> int:
    """A count from the command line. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, not {text!r}")
    return int(text)


class Progress:
    """One line on standard error. No thread turns it: that would be heard in the figures."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last = ""

    def __call__(self, text: str) -> None:
        """Say what is being done; on a terminal in place of what was said before."""
        if text == self._last:
            return
        self._last = text
        line = f"{self._name}: {text}"
        sys.stderr.write(f"\r\x1b[K{line}" if sys.stderr.isatty() else f"{line}\n")
        sys.stderr.flush()

    def program(self, name: str, text: str, fraction: float | None) -> None:
        """Say what a program does while it starts."""
        self(f"{name}: {text}")

    def end(self) -> None:
        """Leave a clean line."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def run(
    benchmark: Benchmark,
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    measure: Callable[[argparse.Namespace, Progress], Result],
) -> Result:
    """Measure, then write and print what was found; what goes wrong is one line and an exit code.

    Args:
        benchmark: whose program this is; some of them have runs that are benchmarks of their own.
        parser: made by `make_parser`.
        arguments: of the command line; none: this program's.
        measure: the whole benchmark; it may raise `VoxringError`.
    """
    options = parser.parse_args(arguments)
    progress = Progress(benchmark.name)
    try:
        result = measure(options, progress)
        progress.end()
        measured = next(each for each in BENCHMARKS if each.name == result.benchmark)
        show(measured, result, options.json)
    except (ConfigError, AudioError, OutputError) as error:
        parser.exit(MISTAKE, f"error: {error}\n")
    except VoxringError as error:
        parser.exit(FAILED, f"error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted\n")
    return result


def show(benchmark: Benchmark, result: Result, json: Path | None) -> None:
    """Write the result where it was asked for, then print it.

    Raises:
        OutputError: it cannot be written.
    """
    if json:
        result.write(json)
    Console().print(as_table(benchmark, result))


def as_table(benchmark: Benchmark, result: Result) -> Table:
    """A result for people."""
    before, after = result.load["before"][0], result.load["after"][0]
    title = f"{benchmark.name} · n {result.n} · load {before} before, {after} after"
    table = Table(title=title, title_justify="left")
    for column in ("metric", "value", "bar", "meaning"):
        table.add_column(column, justify="right" if column in ("value", "bar") else "left")
    for name in benchmark.ordered(result.metrics):
        metric, value = benchmark.find(name), result.metrics[name]
        if metric.name != name:
            table.add_row(f"  {name.partition('.')[2]}", figure(value), style="dim")
            continue
        missed = metric.bar is not None and (value is None or not metric.bar.holds(value))
        bar = str(metric.bar or "")
        table.add_row(name, figure(value), bar, metric.meaning, style="red" if missed else "")
    return table


def figure(value: Figure) -> str:
    """A figure as people read it: three significant digits, or all before the point."""
    if value is None:
        return "-"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
