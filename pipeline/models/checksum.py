"""Is a model folder exactly what it should be? Cheap at every start, exhaustive on demand.

Hashing half a gigabyte at every start would cost a second, so a folder carries a *stamp*: for each
file the SHA-256 that was seen, and the file's size and modification time when it was seen. While
size and time still agree, the stamp speaks for the file; when either differs, or there is no stamp,
the file is hashed again. Every change made by ordinary means (an interrupted copy, an edit, a
truncation, another version) is thus found at start. A disk that changes bytes and keeps the times
is found by the full check only, `voxring models verify`.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.errors import ModelError
from pipeline.models.bundle import ModelFile
from pipeline.models.progress import Progress

_STAMP = ".verified.json"
_CHUNK = 1 << 20  # bytes hashed between two reports


@dataclass(frozen=True)
class Seen:
    """A file as it was when it was hashed."""

    size: int  # bytes
    mtime_ns: int
    sha256: str

    def fits(self, status: os.stat_result) -> bool:
        """Return whether size and time are still those of the hashed file."""
        return self.size == status.st_size and self.mtime_ns == status.st_mtime_ns


@dataclass(frozen=True)
class Stamp:
    """What is known of a folder's files, and of the files that they were converted from."""

    files: dict[str, Seen] = field(default_factory=dict)
    sources: dict[str, Seen] = field(default_factory=dict)  # by name; none: not converted
    recipe: str = ""  # the version of the conversion's rules

    @property
    def model_files(self) -> tuple[ModelFile, ...]:
        """The stamped files, as something to check the folder against."""
        return tuple(ModelFile(name, seen.size, seen.sha256) for name, seen in self.files.items())


def read_stamp(folder: Path) -> Stamp:
    """Return the stamp of `folder`; an empty one if it has none, or one that cannot be read."""
    try:
        content = json.loads((folder / _STAMP).read_text())
        return Stamp(_seens(content["files"]), _seens(content["sources"]), content["recipe"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Stamp()


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Replace the stamp of `folder` in one step; two processes may do so at the same time."""
    fresh = folder / f"{_STAMP}.{os.getpid()}"
    fresh.write_text(json.dumps(asdict(stamp), indent=1))
    fresh.replace(folder / _STAMP)


def check(
    folder: Path,
    files: Sequence[ModelFile],
    *,
    remedy: str,
    progress: Progress,
    full: bool = False,
) -> None:
    """Compare every file of `folder` with its pinned size and SHA-256.

    Args:
        folder: the model's folder.
        files: what it must hold.
        remedy: what to do about a wrong file.
        progress: told while files are hashed, and only then.
        full: hash every file, whatever the stamp says.

    Raises:
        ModelError: a file is missing or differs; names it, and both digests.
    """
    stamp = read_stamp(folder)
    statuses = {file.name: _status(folder, file, remedy) for file in files}
    doubtful = [f for f in files if full or not _vouched(stamp, f, statuses[f.name])]
    if not doubtful:
        return
    advance = _reporter("checking the model's files", sum(f.size for f in doubtful), progress)
    fresh = dict(stamp.files)
    for file in doubtful:
        _compare(folder, file, remedy, advance)
        # The status was taken before the hash: a write in between makes the stamp unfit, not wrong.
        fresh[file.name] = _seen(statuses[file.name], file.sha256)
    # A read-only cache without a stamp is hashed at every start: slow, but true.
    with contextlib.suppress(OSError):
        write_stamp(folder, replace(stamp, files=fresh))


def seal(folder: Path, sources: Sequence[Path], recipe: str) -> None:
    """Stamp a folder whose files were just made here from `sources`, so are right by definition."""
    made = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith(_STAMP))
    write_stamp(folder, Stamp(_all_seen(made), _all_seen(sources), recipe))


def is_from(folder: Path, sources: Sequence[Path], recipe: str) -> bool:
    """Return whether `folder` was sealed with this recipe and this content of `sources`.

    A source whose time has changed is hashed.
    """
    stamp = read_stamp(folder)
    if not stamp.sources or stamp.recipe != recipe:
        return False
    if stamp.sources.keys() != {path.name for path in sources}:
        return False
    seens = [(stamp.sources[path.name], path) for path in sources]
    return all(seen.fits(path.stat()) or seen.sha256 == sha256_of(path) for seen, path in seens)


def known_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, as the stamp of its folder tells it, else hashed now."""
    seen = read_stamp(path.parent).files.get(path.name)
    return seen.sha256 if seen and seen.fits(path.stat()) else sha256_of(path)


def sha256_of(path: Path, advance: Callable[[int], None] | None = None) -> str:
    """Return the SHA-256 of a file in hex; `advance` gets the bytes read since its last call."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            if advance is not None:
                advance(len(chunk))
    return digest.hexdigest()


def _seens(content: dict[str, dict[str, Any]]) -> dict[str, Seen]:
    return {name: Seen(**seen) for name, seen in content.items()}


def _all_seen(paths: Sequence[Path]) -> dict[str, Seen]:
    return {path.name: _seen(path.stat(), sha256_of(path)) for path in paths}


def _seen(status: os.stat_result, sha256: str) -> Seen:
    return Seen(status.st_size, status.st_mtime_ns, sha256)


def _vouched(stamp: Stamp, file: ModelFile, status: os.stat_result) -> bool:
    seen = stamp.files.get(file.name)
    return seen is not None and seen.sha256 == file.sha256 and seen.fits(status)


def _status(folder: Path, file: ModelFile, remedy: str) -> os.stat_result:
    path = folder / file.name
    try:
        status = path.stat()
    except OSError as error:
        raise ModelError(f"model file {path} is missing ({error.strerror})", remedy) from error
    if status.st_size != file.size:
        raise ModelError(
            f"model file {path} has {status.st_size:,} bytes, expected {file.size:,}", remedy
        )
    return status


def _compare(folder: Path, file: ModelFile, remedy: str, advance: Callable[[int], None]) -> None:
    path = folder / file.name
    try:
        seen = sha256_of(path, advance)
    except OSError as error:
        raise ModelError(f"model file {path} cannot be read: {error.strerror}", remedy) from error
    if seen != file.sha256:
        raise ModelError(
            f"model file {path} has a wrong checksum: SHA-256 is {seen}, expected {file.sha256}",
            remedy,
        )


def _reporter(text: str, total: int, progress: Progress) -> Callable[[int], None]:
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(text, min(done / max(total, 1), 1.0))

    return advance
