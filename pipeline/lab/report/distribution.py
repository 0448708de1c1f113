"""How first audio is spread, by turn and over all: pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from pipeline.lab.report.scale import Scale, Tick, percentile, scale_of
from pipeline.lab.run import Check, Run, Turn, samples
from pipeline.lab.steps import NAMES, STAGES
from pipeline.lab.verdict import step_medians

BINS = 24
ENOUGH = 8  # samples for a histogram
DOTS = 200  # of a row, at most: the outermost are always among them


@dataclass(frozen=True)
class Row:
    """A turn's first audio.

    Attributes:
        n: warm repeats in which it counts,
        total: of so many.
        dots: place of each warm repeat, percent, and its ms.
        cold: of each cold one.
        marks: ("p50", place, ms).
        missed: a bound of it was.
    """

    name: str
    n: int
    total: int
    dots: list[tuple[float, float]]
    cold: list[tuple[float, float]]
    marks: list[tuple[str, float, float]]
    missed: bool


@dataclass(frozen=True)
class Segment:
    """A step of the way to first audio, in the median."""

    name: str
    meaning: str
    stage: str
    left: float
    width: float
    ms: float


@dataclass(frozen=True)
class Path:
    """The way of one turn."""

    name: str
    total: float
    segments: list[Segment]


@dataclass(frozen=True)
class Spread:
    """All of it, on one axis."""

    rows: list[Row]
    ticks: list[Tick]
    bars: list[tuple[float, float, float, int]]  # left, width, height in percent, count
    marks: list[tuple[str, float, float]]
    histogram_ticks: list[Tick]
    n: int


def spread(run: Run) -> Spread:
    """Of every turn that was heard."""
    everything = samples(run.turns)
    scale = scale_of(everything)
    rows = [_row(key, run, scale) for key in run.keys] if everything else []
    warm = samples(turn for turn in run.turns if turn.warm)
    if len(warm) < ENOUGH:
        return Spread(rows, scale.ticks(), [], [], [], len(warm))
    narrow = scale_of(warm, from_zero=False, most=8)
    return Spread(
        rows, scale.ticks(), _bars(warm, narrow), marks(warm, narrow), narrow.ticks(8), len(warm)
    )


def paths(run: Run) -> tuple[list[Path], list[Tick]]:
    """What the first audio of each turn waited for, and the axis."""
    found = {key: _steps(run.of(key, warm=True) or run.of(key)) for key in run.keys}
    totals = [sum(steps.values()) for steps in found.values()]
    scale = scale_of(totals)
    listed = [_path(key, steps, scale) for key, steps in found.items() if steps]
    return listed, scale.ticks()


def marks(values: Sequence[float], scale: Scale) -> list[tuple[str, float, float]]:
    """p50, p95 and p99, interpolated."""
    found = [(f"p{percent}", percentile(values, percent)) for percent in (50, 95, 99)]
    return [(name, scale(ms), ms) for name, ms in found]


def _row(key: str, run: Run, scale: Scale) -> Row:
    warm, cold = samples(run.of(key, warm=True)), samples(run.of(key, warm=False))
    missed = [c for c in run.checks if c.key == key and not c.passed and _is_time(c)]
    return Row(
        name=key,
        n=len(warm),
        total=len(run.of(key, warm=True)),
        dots=[(scale(ms), ms) for ms in _some(warm)],
        cold=[(scale(ms), ms) for ms in _some(cold)],
        marks=marks(warm, scale) if warm else [],
        missed=bool(missed),
    )


def _is_time(check: Check) -> bool:
    return check.kind in ("within_ms", "cold_within_ms")


def _some(values: Sequence[float]) -> list[float]:
    """At most DOTS of them, evenly by rank."""
    ordered = sorted(values)
    if len(ordered) <= DOTS:
        return ordered
    return [ordered[round(n * (len(ordered) - 1) / (DOTS - 1))] for n in range(DOTS)]


def _bars(values: Sequence[float], scale: Scale) -> list[tuple[float, float, float, int]]:
    counts = [0] * BINS
    for value in values:
        counts[min(int(scale(value) / 100 * BINS), BINS - 1)] += 1
    most = max(counts)
    return [
        (100 * n / BINS, 100 / BINS, 100 * count / most, count)
        for n, count in enumerate(counts)
        if count
    ]


def _steps(turns: Sequence[Turn]) -> dict[str, float]:
    """The median of each step, in the order in which they are usually reached."""
    heard = [turn for turn in turns if turn.first_audio_ms is not None]
    took = step_medians(heard)
    ends = {
        name: median(turn.phases[name] for turn in heard if name in turn.phases)
        for name in took
        if any(name in turn.phases for turn in heard)
    }
    return {name: took[name] for name in sorted(ends, key=lambda each: ends[each])}


def _path(key: str, steps: dict[str, float], scale: Scale) -> Path:
    segments, before = [], 0.0
    for name, ms in steps.items():
        if ms > 0:
            left, right = scale(before), scale(before + ms)
            segments.append(Segment(name, NAMES[name], STAGES[name], left, right - left, ms))
        before += max(ms, 0.0)
    return Path(key, before, segments)
