"""The keys of a terminal, one by one, and the terminal as it was when that is over."""

import asyncio
import contextlib
import os
import sys
import termios
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Self

from pipeline.terminal.keys import Key, KeyReader

SETTLE_S = 0.05  # in which the rest of a key's sequence follows its escape, also through a network


class Keyboard:
    """Gives each key at once, without echo, while the block lasts; Ctrl-C still interrupts.

    Args:
        fd: standard input; a terminal, whose foreground program this is. See `find`.
        on_key: told of each key that means something.
        on_gone: told when the terminal is there no more.
    """

    def __init__(
        self, fd: int, on_key: Callable[[Key], None], on_gone: Callable[[], object]
    ) -> None:
        self._fd = fd
        self._on_key = on_key
        self._on_gone = on_gone
        self._reader = KeyReader()
        self._settle: asyncio.TimerHandle | None = None

    @staticmethod
    def find() -> int | None:
        """Standard input, where it is a terminal and its keys are ours; else None."""
        try:
            fd = sys.stdin.fileno()  # None or closed: a program was started without
            ours = os.isatty(fd) and os.tcgetpgrp(fd) == os.getpgrp()
        except (AttributeError, ValueError, OSError):
            return None
        return fd if ours else None

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._fd)
        self.grab()
        asyncio.get_running_loop().add_reader(self._fd, self._read)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        if self._settle:
            self._settle.cancel()
        self.let_go()

    def grab(self) -> None:
        """Take the keys as they are pressed."""
        tty.setcbreak(self._fd, termios.TCSANOW)

    def let_go(self) -> None:
        """Give the terminal back as it was; it may be gone."""
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 1024)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._on_gone()
            return
        if self._settle:
            self._settle.cancel()
            self._settle = None
        self._press(self._reader.feed(data))
        if self._reader.is_open:
            loop = asyncio.get_running_loop()
            self._settle = loop.call_later(SETTLE_S, lambda: self._press(self._reader.settle()))

    def _press(self, keys: list[Key]) -> None:
        for key in keys:
            self._on_key(key)
