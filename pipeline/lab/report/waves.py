"""Waveforms and curves as SVG paths in a box of 1,000 by 100 that stretches to any width: pure."""

from collections.abc import Sequence

from pipeline.lab.peaks import unpack

WIDTH, HEIGHT = 1000, 100
LIFT = 0.5  # exponent: soft sounds are seen beside loud ones


def waveform(packed: str) -> str:
    """Peaks as a filled shape around the middle of the box; "" of silence."""
    try:
        peaks = unpack(packed)
    except ValueError:
        return ""
    if not len(peaks) or not peaks.any():
        return ""
    step = WIDTH / len(peaks)
    heights = [(HEIGHT / 2 - 2) * (int(peak) / 255) ** LIFT for peak in peaks]
    above = [f"{n * step:.0f} {HEIGHT / 2 - h:.0f}" for n, h in enumerate(heights)]
    below = [f"{n * step:.0f} {HEIGHT / 2 + h:.0f}" for n, h in enumerate(heights)]
    return "M" + "L".join([*above, *reversed(below)]) + "Z"


def curve(at: Sequence[float], values: Sequence[float | None], last: float, top: float) -> str:
    """A line through what is known; it breaks where a value is missing.

    Args:
        at: of each value, from 0 to `last`.
        top: value at the upper edge.
    """
    parts: list[str] = []
    pen_down = False
    for x, value in zip(at, values, strict=False):
        if value is None:
            pen_down = False
            continue
        place = f"{WIDTH * x / (last or 1):.0f} {HEIGHT * (1 - min(value / (top or 1), 1)):.1f}"
        parts.append(f"{'L' if pen_down else 'M'}{place}")
        pen_down = True
    return "".join(parts)
