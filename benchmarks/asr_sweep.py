"""Errors and lag for many settings of the commit policy, and a picture of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.asr_clips import Spoken, Word
from benchmarks.asr_figures import Reader, figures
from benchmarks.asr_live import Clock, Live
from benchmarks.command import Progress
from benchmarks.result import Figure, Result
from pipeline.config import Config
from pipeline.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS_MS = (200, 300, 500, 700, 1000)
FEWER_STEPS_MS = STEPS_MS[::2]  # for other windows than the default
AGREEMENTS = (2, 3)
WINDOWS_S = (4, 8, 15, 30)
_SHOWN = {
    "wer": "wer_streamed",
    "lag_p50_ms": "commit_lag_p50_ms",
    "lag_p90_ms": "commit_lag_p90_ms",
    "committed_before_end": "committed_before_end",
    "revised_share": "revised_share",
    "busy_share": "busy_share",
}
_DRAWN = {"wer": "words wrong in the end, %", "revised_share": "ids revised later, %"}
# Okabe and Ito's colours, which colour-blind people tell apart; markers say it again.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
_MARKERS = ("o", "s", "^", "D")


@dataclass(frozen=True)
class Setting:
    """One point of the sweep."""

    step_ms: int
    agreement: int
    window_s: int

    @property
    def name(self) -> str:
        """As a part of a metric's name."""
        return f"a{self.agreement}-w{self.window_s}-s{self.step_ms}"

    def of(self, config: Config) -> Config:
        """A configuration with these values."""
        values = {
            "step_ms": self.step_ms,
            "agreement": self.agreement,
            "window_s": float(self.window_s),
        }
        return config.model_copy(update={"asr": config.asr.model_copy(update=values)})


def settings(quick: bool) -> Iterator[Setting]:
    """Every point: all steps for the default window, fewer for the others."""
    for window in (8,) if quick else WINDOWS_S:
        steps = STEPS_MS if window == 8 and not quick else FEWER_STEPS_MS
        yield from (Setting(step, many, window) for many, step in product(AGREEMENTS, steps))


def measure(
    clips: Sequence[Spoken],
    words: dict[str, list[Word]],
    config: Config,
    quick: bool,
    progress: Progress,
) -> tuple[int, dict[str, Figure]]:
    """How many lags each point rests on, and all metrics of `asr_sweep`."""
    found: dict[str, Figure] = {}
    n = 0
    for setting in settings(quick):
        progress(setting.name)
        values, n = _measure(clips, words, setting.of(config))
        found |= {f"{shown}.{setting.name}": values[name] for shown, name in _SHOWN.items()}
    return n, found


def _measure(
    clips: Sequence[Spoken], words: dict[str, list[Word]], config: Config
) -> tuple[dict[str, Figure], int]:
    with Live(config, Clock(live=False)) as live:
        reader = Reader.of(live.asr.bridge, config)
        heeds = [reader.heed(clip, words[clip.name], *live.hear(clip)) for clip in clips]
        busy = live.asr_ns / 1e9 / sum(clip.seconds for clip in clips)
    return figures(heeds) | {"busy_share": busy}, sum(len(heed.lags) for heed in heeds)


def points(metrics: Mapping[str, Figure]) -> list[Setting]:
    """The settings that a result has."""
    names = [name.partition(".")[2] for name in metrics if name.startswith("wer.")]
    parts = [name.split("-") for name in names]
    return [Setting(int(step[1:]), int(many[1:]), int(long[1:])) for many, long, step in parts]


def table(result: Result) -> str:
    """The sweep as Markdown, one line a point."""
    lines = [
        "| agreement | window s | step ms | WER % | lag p50 / p90 ms | before the end % "
        "| revised % | time in `asr` % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for point in points(result.metrics):
        value = {name: result.metrics[f"{name}.{point.name}"] or 0 for name in _SHOWN}
        lines.append(
            f"| {point.agreement} | {point.window_s} | {point.step_ms} | {100 * value['wer']:.1f} "
            f"| {value['lag_p50_ms']:,.0f} / {value['lag_p90_ms']:,.0f} "
            f"| {100 * value['committed_before_end']:.0f} | {100 * value['revised_share']:.1f} "
            f"| {100 * value['busy_share']:.0f} |"
        )
    return "\n".join(lines)


def draw(metrics: Mapping[str, Figure], path: Path) -> None:
    """Errors and revisions against lag: a line for each window, a column for each agreement.

    Raises:
        OutputError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        import matplotlib
    except ImportError:
        raise OutputError(
            "a picture needs matplotlib, which is not installed", "pip install 'voxring[dev]'"
        ) from None
    from matplotlib.figure import Figure as Picture

    found = points(metrics)
    agreements = sorted({point.agreement for point in found})
    picture = Picture(figsize=(9, 7), layout="constrained")
    every = picture.subplots(len(_DRAWN), len(agreements), sharex=True, sharey="row", squeeze=False)
    for row, (name, label) in zip(every, _DRAWN.items(), strict=True):
        row[0].set_ylabel(label)
        for axes, agreement in zip(row, agreements, strict=True):
            _lines(axes, metrics, name, [p for p in found if p.agreement == agreement])
    for axes, agreement in zip(every[0], agreements, strict=True):
        axes.set_title(f"{agreement} decodes must agree")
    for axes in every[-1]:
        axes.set_xlabel("commit lag, median, s (at the points: step, s)")
    every[0][-1].legend(title="window")
    # the same picture is the same file, and text stays text: a small one
    with matplotlib.rc_context({"svg.hashsalt": "voxring", "svg.fonttype": "none"}):
        try:
            picture.savefig(path, format="svg", metadata={"Date": None})
        except OSError as error:
            raise OutputError(
                f"{path} cannot be written: {error.strerror}", "Choose another --picture"
            ) from error


def _lines(axes: "Axes", metrics: Mapping[str, Figure], name: str, found: list[Setting]) -> None:
    axes.grid(alpha=0.3)
    for window, colour, marker in zip(WINDOWS_S, _COLOURS, _MARKERS, strict=True):
        line = [point for point in found if point.window_s == window]
        lag = [(metrics[f"lag_p50_ms.{point.name}"] or 0) / 1000 for point in line]
        share = [100 * (metrics[f"{name}.{point.name}"] or 0) for point in line]
        if line:
            axes.plot(lag, share, color=colour, marker=marker, label=f"{window} s")
        for point, x, y in zip(line, lag, share, strict=True):
            axes.annotate(
                f"{point.step_ms / 1000:g}",
                (x, y),
                fontsize=7,
                xytext=(4, 4),
                textcoords="offset points",
                color=colour,
            )
