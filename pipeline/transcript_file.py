"""The transcript of one conversation on the disk."""

import os
from collections.abc import Callable
from pathlib import Path

from pipeline.errors import OutputError
from pipeline.events import Event
from pipeline.output import output_error
from pipeline.transcript import Transcript

SETTING = "pipeline.transcripts"


class TranscriptFile:
    """Appends each turn when it has ended, so that a killed program has lost none before it.

    The file is made with the first turn, for its owner alone, and never over one that is there.
    After an error nothing more is written.

    Args:
        now: wall-clock ns.
    """

    def __init__(self, path: Path, transcript: Transcript, now: Callable[[], int]) -> None:
        self.path = path
        self._transcript = transcript
        self._now = now
        self._only_new = os.O_EXCL
        self._has_failed = False

    def take(self, event: Event) -> None:
        """Keep what belongs in it.

        Raises:
            OutputError: no room, no permission, or no such folder any more; told once.
        """
        line = self._transcript.take(event, self._now())
        if line is None or self._has_failed:
            return
        try:
            self._append(f"{line}\n".encode(errors="replace"))
        except OSError as error:
            self._has_failed = True
            raise self._error(error) from None

    def _append(self, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | self._only_new
        with os.fdopen(os.open(self.path, flags, 0o600), "ab", buffering=0) as file:
            self._only_new = 0
            before = file.seek(0, os.SEEK_END)
            try:
                while data:
                    data = data[file.write(data) :]
            except OSError:
                file.truncate(before)  # half a line would spoil the file for its readers
                raise

    def _error(self, error: OSError) -> OutputError:
        return output_error(self.path, error, SETTING)
