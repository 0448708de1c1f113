"""The Smart Turn end-of-turn model: one ONNX file among those of a bundle, a folder or the hub."""

from pathlib import Path

from pipeline.errors import ModelError
from pipeline.models.progress import Progress, silent
from pipeline.models.store import resolve


def smart_turn_path(reference: str, progress: Progress = silent) -> Path:
    """Return the ONNX file of a Smart Turn model, fetching it on first use.

    The hub repository holds every release, each for CPUs (8 bit) and for GPUs: the newest for CPUs
    is taken.

    Args:
        reference: as for `resolve`; a folder, or the file itself.
        progress: told while something takes time.

    Raises:
        ModelError: as `resolve`; no ONNX file in it, or several that do not say which is meant.
    """
    place = resolve(reference, progress)
    if not place.is_dir():
        return place
    if for_cpu := sorted(place.glob("*-cpu.onnx")):
        return for_cpu[-1]
    found = sorted(place.glob("*.onnx"))
    if len(found) != 1:
        raise ModelError(
            f"{place} holds {len(found)} ONNX files, expected one, or one that ends in -cpu.onnx",
            f"Name one of them: {', '.join(path.name for path in found[:5])}"
            if found
            else "Use bundle:smart-turn-v3.2, or pipecat-ai/smart-turn-v3",
        )
    return found[0]
