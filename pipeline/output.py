"""Places that results are written to."""

import errno
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
