"""Places in the cache where a model is put together before it is moved into place at once.

A folder under `partial/` belongs to the process that holds the lock inside it. The kernel drops
locks with their process, however it dies, so a folder whose lock is free is a dead one's.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LOCK = "lock"


@dataclass(frozen=True)
class Workspace:
    """A private folder, and the descriptor that keeps it from being swept.

    A child process that inherits `lock` keeps the folder too: a downloader that outlives its killed
    parent writes into its own folder, never into its successor's.
    """

    folder: Path
    lock: int


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file `path`; calls `waiting` once if another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _try_lock(lock):
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextmanager
def workspace(root: Path, name: str) -> Iterator[Workspace]:
    """Make a private folder on the cache's own disk, and remove it at the end.

    Folders of dead processes are swept first. Sweeping and making happen under one lock, so that
    nobody sweeps a folder whose owner has not locked it yet.
    """
    with locked(root / "locks" / "partial", lambda: None):
        _sweep(root / "partial")
        space = _make(root / "partial", name)
    try:
        yield space
    finally:
        shutil.rmtree(space.folder, ignore_errors=True)
        os.close(space.lock)


def install(made: Path, place: Path, space: Workspace) -> None:
    """Move the finished folder `made` to `place`; what was there goes with the workspace.

    Files open in other processes stay readable. Killed between the two renames, `place` is absent,
    so it is fetched again.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(space.folder / "old")
    made.rename(place)


def _make(partial: Path, name: str) -> Workspace:
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=partial))
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return Workspace(folder, lock)


def _sweep(partial: Path) -> None:
    partial.mkdir(parents=True, exist_ok=True)
    for folder in partial.iterdir():
        if _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return True  # its owner died between making the folder and locking it
    except OSError:
        return False  # another user's
    try:
        return _try_lock(lock)
    finally:
        os.close(lock)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
