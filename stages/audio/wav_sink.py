"""What was heard of a turn, as a WAV file."""

import os
import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from pipeline.output import output_error


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
            raise output_error(self.path, error, "--out") from None
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
