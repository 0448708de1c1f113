"""A picture of what `llm_cuda` found; matplotlib is not among voxring's requirements."""

from pathlib import Path

from benchmarks.llm_cuda import HISTORIES, LANES, SWITCHED_OFF
from benchmarks.random_models import SHAPES
from benchmarks.result import Result
from pipeline.errors import OutputError


def draw(result: Result, path: Path) -> None:
    """Write a picture; the ending names its kind.

    Raises:
        OutputError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise OutputError("a picture needs matplotlib", "pip install matplotlib") from error
    found = result.metrics
    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4), layout="constrained")
    for shape, colour in zip(SHAPES, ("tab:green", "tab:orange", "tab:blue"), strict=True):
        for metric, end, style in (("stock_first_ms", "", "--o"), ("first_ms", "-8", "-o")):
            times = [found[f"{metric}.{shape}-{history}{end}"] for history in HISTORIES]
            name = f"{shape}, {'generate' if end == '' else 'voxring'}"
            axes[0].plot(HISTORIES, times, style, color=colour, label=name)
    axes[0].set(xlabel="ids of history", ylabel="ms to the first id", xscale="log", yscale="log")
    axes[0].set_xticks(HISTORIES, [str(history) for history in HISTORIES], minor=False)
    axes[0].set_xticks([], minor=True)
    axes[0].set_title("First id after the last 8 ids")
    names = [*SWITCHED_OFF, "strict"]
    axes[1].barh(names, [found[f"ablation_first_ms.{name}"] or 0 for name in names])
    axes[1].set(xlabel="ms to the first id", title="1b: one thing changed at a time")
    axes[1].invert_yaxis()
    for metric in ("lanes_first_p50_ms", "lanes_first_p95_ms", "lanes_next_p99_ms"):
        times = [found[f"{metric}.{count}"] for count in LANES]
        axes[2].plot(LANES, times, "-o", label=metric.removeprefix("lanes_").replace("_", " "))
    axes[2].set(xlabel="lanes", ylabel="ms", title="1b: many conversations at once")
    for part in (axes[0], axes[2]):
        part.legend(fontsize=8)
        part.grid(alpha=0.3)
    try:
        figure.savefig(path, dpi=110)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error
