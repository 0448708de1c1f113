"""Places that results are written to."""

import errno
import os
import tempfile
from pathlib import Path

from pipeline.errors import OutputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_writable(folder: Path, setting: str, *, mode: int = 0o777) -> None:
    """Make a folder and prove that files can be written there, before models load.

    Args:
        setting: the option or the key that names it.
        mode: rights of a folder that is made here.

    Raises:
        OutputError: it cannot be made or written to.
    """
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        raise output_error(folder, error, setting) from None


def output_error(path: Path, error: OSError, setting: str) -> OutputError:
    """What the system refused, and what to do about it."""
    remedy = (
        "Free some space or name another place" if error.errno in _FULL else "Name another place"
    )
    return OutputError(f"{path} cannot be written: {error.strerror}", f"{remedy} with {setting}")


def check_file(path: Path, setting: str) -> None:
    """Check that `write_text` will have a place, before anything is played.

    Raises:
        OutputError: there is no such folder, or no permission.
    """
    try:
        if path.exists():
            with path.open("ab"):
                return
        with tempfile.TemporaryFile(dir=path.parent):
            return
    except OSError as error:
        raise output_error(path, error, setting) from error


def write_text(path: Path, text: str, setting: str) -> None:
    """Write a file, UTF-8; it appears whole or not at all.

    Args:
        setting: the option or the key that names it.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():  # such as /dev/stdout
            path.write_text(text, encoding="utf-8")
            return
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise output_error(path, error, setting) from error
