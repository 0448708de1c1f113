"""What was heard of a turn, as a WAV file."""

import errno
import os
import tempfile
import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError, OutputError


class WavSink:
    """Collects int16 mono samples and writes them as one file.

    The file appears whole or not at all: it is written under another name and then renamed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rate: int | None = None
        self._parts: list[NDArray[np.int16]] = []

    @property
    def count(self) -> int:
        """Samples collected."""
        return sum(part.size for part in self._parts)

    def add(self, samples: NDArray[np.int16], rate: int, pause_ns: int = 0) -> None:
        """Append samples (copied), behind a pause in which nothing was heard.

        Raises:
            AudioError: another rate than before; a WAV file has one.
        """
        if self.rate not in (None, rate):
            raise AudioError(f"the voice changed from {self.rate} to {rate} Hz within a turn")
        self.rate = rate
        if pause_ns:
            self._parts.append(np.zeros(pause_ns * rate // 1_000_000_000, np.int16))
        self._parts.append(np.array(samples, np.int16))

    def write(self) -> bool:
        """Write everything collected so far; a second call replaces the file.

        Returns:
            False if there was nothing to write: no file is made.

        Raises:
            OutputError: no room, no permission, or no such folder.
        """
        if self.rate is None:
            return False
        try:
            self._replace(np.concatenate(self._parts).astype("<i2", copy=False).tobytes())
        except OSError as error:
            raise _output_error(self.path, error) from None
        return True

    def _replace(self, data: bytes) -> None:
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with temporary.open("wb") as file, wave.open(file, "wb") as out:
                out.setparams((1, 2, self.rate or 0, 0, "NONE", ""))
                out.writeframes(data)
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)


def check_writable(folder: Path) -> None:
    """Make a folder for answers and prove that files can be written there, before models load.

    Raises:
        OutputError: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        raise _output_error(folder, error) from None


def _output_error(path: Path, error: OSError) -> OutputError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "Free some space or name another place" if full else "Name another place"
    return OutputError(f"{path} cannot be written: {error.strerror}", f"{remedy} with --out")
