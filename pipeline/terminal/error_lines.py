"""What programs write to standard error while a picture owns the terminal."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from types import TracebackType
from typing import Self

STDERR = 2


class ErrorLines:
    """Gives each line of standard error, ours and our children's, while the block lasts.

    Without it, lines would be written across the picture.

    Args:
        on_line: gets a line, without its end.
    """

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._begun = b""

    def __enter__(self) -> Self:
        self._pipe, end = os.pipe()
        os.set_blocking(self._pipe, False)
        self._kept = os.dup(STDERR)
        os.dup2(end, STDERR)
        os.close(end)
        asyncio.get_running_loop().add_reader(self._pipe, self._read)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.dup2(self._kept, STDERR)
        os.close(self._kept)
        asyncio.get_running_loop().remove_reader(self._pipe)
        self._read()
        os.close(self._pipe)
        self._tell(self._begun)  # a line without an end

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._pipe, 65_536):
                *whole, self._begun = (self._begun + data).split(b"\n")
                for line in whole:
                    self._tell(line)

    def _tell(self, line: bytes) -> None:
        text = line.decode(errors="replace").strip()
        if text:
            self._on_line(text)
