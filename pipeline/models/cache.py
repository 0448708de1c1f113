"""The model cache: one folder per user that holds everything that was fetched or converted.

bundles/NAME/   unpacked model files, and the stamp of their checksums
llm/NAME/       GGUF weights converted to safetensors
onnx/NAME/BITS/ language models built for ONNX Runtime
voices/SHA256/  Piper voices in parts, by what they were split from
hub/            marks of hub downloads that have begun and not ended
locks/          one lock file per model, so that two processes fetch it once
partial/        downloads and conversions in progress
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import ModelError

_ELSEWHERE = "or set VOXRING_CACHE to a folder elsewhere"


def cache_root() -> Path:
    """Return the cache folder: $VOXRING_CACHE, else $XDG_CACHE_HOME/voxring, else ~/.cache/voxring.

    The folder need not exist; nothing is created.
    """
    if chosen := os.environ.get("VOXRING_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "voxring"


@contextmanager
def storing(root: Path) -> Iterator[None]:
    """Turn what the file system refuses inside the block into one line with a remedy.

    Raises:
        ModelError: no permission, no space, or the cache's path is not a folder.
    """
    try:
        yield
    except OSError as error:
        raise _refused(root, error) from error


def need_room(root: Path, size: int, what: str) -> None:
    """Raise ModelError if the disk of `root`, an existing folder, has less than `size` bytes."""
    free = shutil.disk_usage(root).free
    if free < size:
        raise ModelError(
            f"{what} needs {megabytes(size)} in {root}, which has {megabytes(free)} left",
            f"Free some space {_ELSEWHERE}",
        )


def megabytes(size: int) -> str:
    """Return a number of bytes as people read it."""
    return f"{size / 1e6:.0f} MB"


def _refused(root: Path, error: OSError) -> ModelError:
    where = error.filename or root
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return ModelError(
                f"the disk of the model cache {root} is full", f"Free some space {_ELSEWHERE}"
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return ModelError(
                f"the model cache cannot be written: no permission for {where}",
                f"Make {root} writable {_ELSEWHERE}",
            )
        case errno.ENOTDIR | errno.EEXIST:
            return ModelError(
                f"the model cache cannot be written: a file is where {where} needs a folder",
                f"Move that file {_ELSEWHERE}",
            )
        case _:
            return ModelError(
                f"the model cache cannot be used: {error.strerror or error} ({where})",
                f"Check {root} {_ELSEWHERE}",
            )
