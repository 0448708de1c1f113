"""The terminal that a conversation is held on: picture, keys, and both given back at the end."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console

from pipeline.terminal.display import display_for, let_go_of
from pipeline.terminal.entry import Note
from pipeline.terminal.error_lines import ErrorLines
from pipeline.terminal.keyboard import Keyboard
from pipeline.terminal.keys import Key
from pipeline.terminal.words import clean

OUTPUTS = (1, 2)
ENDS = (signal.SIGTERM, signal.SIGHUP)


class Terminal:
    """Standard input and output while the block lasts.

    Whatever ends it, the terminal is then as it was. Ctrl-Z gives it back too, until the program
    goes on. Where standard output is no terminal there are plain lines and no keys.

    Args:
        console: standard output.
        on_key: told of each key that means something.
        on_gone: told, once, when the terminal is there no more or the system wants an end.

    Attributes:
        display: where to show the conversation.
        has_keys: somebody can press some.
    """

    def __init__(
        self, console: Console, on_key: Callable[[Key], None], on_gone: Callable[[], object]
    ) -> None:
        self.display = display_for(console)
        fd = Keyboard.find() if self.display.is_live else None
        self.has_keys = fd is not None
        self._keyboard = None if fd is None else Keyboard(fd, on_key, self._gone)
        self._on_gone: Callable[[], object] | None = on_gone
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack as stack:
            for fd in OUTPUTS:
                if os.isatty(fd):
                    stack.callback(_forget_if_gone, fd)
            if self.display.is_live and sys.stderr.isatty():
                stack.enter_context(ErrorLines(self._error_line))
            stack.callback(self.display.stop)
            for number in ENDS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                    self._follow(stack, number, self._gone)
            if self._keyboard:
                stack.enter_context(self._keyboard)
                self._follow(stack, signal.SIGTSTP, self._suspend)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @staticmethod
    def _follow(stack: ExitStack, number: signal.Signals, do: Callable[[], object]) -> None:
        """Until the block ends."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(number, do)
        stack.callback(loop.remove_signal_handler, number)

    def _gone(self) -> None:
        """Whoever asks again while everything is ending changes nothing."""
        on_gone, self._on_gone = self._on_gone, None
        if on_gone:
            on_gone()

    def _error_line(self, line: str) -> None:
        self.display.show(Note(clean(line)))

    def _suspend(self) -> None:
        """Ctrl-Z: stop until someone wants us in the foreground."""
        assert self._keyboard
        self.display.stop()
        self._keyboard.let_go()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._keyboard.grab()


def _forget_if_gone(fd: int) -> None:
    """A terminal that was closed takes nothing more."""
    if not os.isatty(fd):
        let_go_of(fd)
