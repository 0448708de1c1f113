"""Models from the Hugging Face hub, in the hub's own cache."""

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import ModelError
from pipeline.models.cache import megabytes, storing
from pipeline.models.checksum import sha256_of
from pipeline.models.child import last_line, run_watched
from pipeline.models.progress import Progress
from pipeline.models.workspace import Workspace, locked, workspace

_LOCAL = "Run: pip install 'voxring[local]'"

_IGNORED = (  # the same weights again, in forms that no stage reads
    "*.msgpack",
    "*.h5",
    "*.ot",
    "*.tflite",
    "*.pth",
    "pytorch_model*",
    "consolidated*",
    "coreml/*",
    "onnx/*",
    "openvino/*",
    "original/*",
    "runs/*",
)

_SCRIPT = """
import sys
from huggingface_hub import snapshot_download
force, name, *ignored = sys.argv[1:]
try:
    snapshot_download(name, force_download=force == "force", ignore_patterns=ignored)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}")
"""

DOWNLOADER = (sys.executable, "-P", "-c", _SCRIPT)
"""Program that gets `force` or `keep`, a hub id, and file patterns to leave out."""


def cached_hub(name: str, root: Path) -> Path | None:
    """Return the snapshot folder of a hub model if it is here, without any network call.

    A download that was begun and not ended left its mark, and does not count.

    Raises:
        ModelError: not a hub id, or huggingface_hub is not installed.
    """
    if _mark(name, root).exists():
        return None
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError as error:
        raise ModelError(
            f"hub model '{name}' cannot be read: huggingface_hub is not installed", _LOCAL
        ) from error
    try:
        return Path(snapshot_download(name, local_files_only=True, ignore_patterns=[*_IGNORED]))
    except LocalEntryNotFoundError:
        return None
    except ValueError as error:
        raise ModelError(f"'{name}' is no hub id: {error}") from error


def fetch_hub(
    name: str,
    root: Path,
    progress: Progress,
    *,
    force: bool,
    downloader: Sequence[str] = DOWNLOADER,
) -> Path:
    """Bring a hub model into the hub's cache and return its snapshot folder.

    Args:
        name: `org/name`.
        root: our cache folder, for locks and marks.
        progress: told how much has come; the total is not known.
        force: bring it again even if it is there.
        downloader: the program that downloads.

    Raises:
        ModelError: no network, no such model, no permission.
    """
    mark = _mark(name, root)

    def waiting() -> None:
        progress(f"waiting: another process fetches {name}", None)

    with storing(root), locked(root / "locks" / mark.name, waiting):
        here = None if force else cached_hub(name, root)
        if here is not None:
            return here
        _refuse_offline(name)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        with workspace(root, mark.name) as space:
            _download(name, space, progress, force=force, downloader=downloader)
        mark.unlink()
    if (here := cached_hub(name, root)) is None:
        raise ModelError(f"hub model '{name}' was fetched but is not in the hub's cache")
    return here


def verify_hub(name: str, folder: Path, progress: Progress) -> None:
    """Compare each file of a snapshot with the digest that the hub's cache names it by.

    Raises:
        ModelError: a file differs.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for index, path in enumerate(files):
        progress(f"checking {name}", index / len(files))
        expected = path.resolve().name  # a link into blobs/; elsewhere the name is no digest
        seen = _digest(path, len(expected))
        if seen and seen != expected:
            raise ModelError(
                f"model file {path} has a wrong checksum: it is {seen}, expected {expected}",
                f"Run: voxring models fetch {name} --force",
            )


def _digest(path: Path, length: int) -> str:
    match length:
        case 64:
            return sha256_of(path)
        case 40:  # small files are named as git names them
            content = path.read_bytes()
            return hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()
        case _:
            return ""


def _mark(name: str, root: Path) -> Path:
    return root / "hub" / name.replace("/", "--")


def _refuse_offline(name: str) -> None:
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        raise ModelError(
            f"hub model '{name}' is not in the cache, and HF_HUB_OFFLINE forbids fetching it",
            f"Unset it and run: voxring models fetch {name}",
        )


def _download(
    name: str, space: Workspace, progress: Progress, *, force: bool, downloader: Sequence[str]
) -> None:
    from huggingface_hub.constants import HF_HUB_CACHE

    progress(f"fetching {name}", None)
    status, output = run_watched(
        (*downloader, "force" if force else "keep", name, *_IGNORED),
        space,
        env={**os.environ, "HF_HUB_DISABLE_PROGRESS_BARS": "1"},
        watch=Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}",
        report=lambda size: progress(f"fetching {name}: {megabytes(size)}", None),
    )
    if status != 0:
        reason = last_line(output).rstrip(".") or "no reason given"
        raise ModelError(
            f"hub model '{name}' cannot be fetched: {reason}",
            "If a path was meant, it does not exist; else check name and network, "
            f"then run: voxring models fetch {name}",
        )
