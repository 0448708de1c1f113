"""Draws the pictures of docs/ from benchmarks/results: `python -m benchmarks.pictures`.

It needs matplotlib, of the extra `dev`.
"""

import sys
from pathlib import Path
from typing import Any

from benchmarks.result import Result
from benchmarks.tables import RESULTS, ROOT

FOLDER = ROOT / "docs" / "pictures"
BLUE, ORANGE, GREY = "#2b6cb0", "#c05621", "#718096"


def main() -> int:
    import matplotlib as mpl

    mpl.use("svg")
    # The same figures give the same file: no date, no random ids.
    mpl.rcParams["svg.hashsalt"] = "voxring"
    FOLDER.mkdir(exist_ok=True)
    result = Result.read(RESULTS / "tts.json")
    draw_lookahead(result, FOLDER / "tts_lookahead.svg")
    draw_first_sound(result, FOLDER / "tts_first_sound.svg")
    return 0


def draw_lookahead(result: Result, path: Path) -> None:
    """Word errors and length by words of lookahead."""
    metrics = result.metrics
    words = sorted(int(n.split(".")[1]) for n in metrics if n.startswith("length_ratio."))
    figure, left = _axes()
    left.plot(words, [metrics[f"wer_percent.{n}"] for n in words], "o-", color=BLUE)
    left.axhline(metrics["wer_percent.whole"], color=BLUE, linestyle=":")
    left.annotate("whole sentences", (words[-1], metrics["wer_percent.whole"]), color=BLUE,
                  ha="right", va="bottom")  # fmt: skip
    left.set_ylabel("word errors of Whisper, %", color=BLUE)
    left.set_xlabel("words of lookahead")
    left.set_xticks(words)
    left.set_ylim(bottom=0)
    right = left.twinx()
    right.plot(words, [metrics[f"length_ratio.{n}"] for n in words], "s--", color=ORANGE)
    right.set_ylabel("length / whole sentences", color=ORANGE)
    _save(figure, path)


def draw_first_sound(result: Result, path: Path) -> None:
    """When 15 words at 20 ids a second are first heard, by way of speaking."""
    prefix = "first_id_to_sound_ms."
    ways = {name.removeprefix(prefix): ms for name, ms in result.metrics.items()
            if name.startswith(prefix)}  # fmt: skip
    figure, axes = _axes()
    bars = axes.barh(list(ways), list(ways.values()), color=[BLUE, GREY, GREY])
    axes.bar_label(bars, fmt="%.0f ms", padding=3)
    axes.set_xlabel("first id to first sound, ms (15 words, 20 ids/s)")
    axes.margins(x=0.15)
    axes.invert_yaxis()
    _save(figure, path)


def _axes() -> tuple[Any, Any]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    sys.exit(main())
