"""The Silero voice activity model, which ships inside the faster-whisper package."""

from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import ModelError

_REMEDY = "Run: pip install 'voxring[local]'"


def silero_vad_path() -> Path:
    """Return the ONNX file of the newest Silero model in the installed faster-whisper.

    The package is found, not imported: its import takes seconds and brings CTranslate2.

    Raises:
        ModelError: faster-whisper is not installed, or has no such file.
    """
    spec = find_spec("faster_whisper")
    if spec is None or spec.origin is None:
        raise ModelError("the Silero model is missing: faster-whisper is not installed", _REMEDY)
    assets = Path(spec.origin).with_name("assets")
    # One file since release 1.2.1; the older pair of encoder and decoder works differently.
    found = sorted(assets.glob("silero_vad*.onnx"))
    if not found:
        raise ModelError(f"the Silero model is missing: no silero_vad*.onnx in {assets}", _REMEDY)
    return found[-1]
