"""Stretches of a reply that are not said: what ends each of them."""

from typing import Protocol


class Silence(Protocol):
    """A stretch that is passed over, character by character."""

    def feed(self, char: str) -> str | None:
        """What stands in its place, now that `char` has ended it; None: it goes on."""


class CodeBlock:
    """Until as many marks as opened it, or more, end a line.

    Args:
        fence: back-ticks or tildes that opened it.
    """

    def __init__(self, fence: str) -> None:
        self._fence = fence
        self._run = 0

    def feed(self, char: str) -> str | None:
        """See `Silence`."""
        if char == self._fence[0]:
            self._run += 1
        elif char == "\n" and self._run >= len(self._fence):
            return ""
        elif char not in " \t" or self._run < len(self._fence):
            self._run = 0
        return None


class Span:
    """Until a closing tag.

    Args:
        close: the tag.
        longest: characters; what is longer was no such span. None: it may be of any length.
    """

    def __init__(self, close: str, longest: int | None) -> None:
        self._close = close
        self._left = longest
        self._tail = ""

    def feed(self, char: str) -> str | None:
        """See `Silence`."""
        self._tail = (self._tail + char)[-len(self._close) :]
        if self._left is not None:
            self._left -= 1
        return "" if self._tail == self._close or self._left == 0 else None


class LinkTarget:
    """Until its parenthesis closes, at the latest at the end of the line.

    Args:
        longest: characters; what is longer was no target.
    """

    def __init__(self, longest: int) -> None:
        self._left = longest
        self._depth = 1

    def feed(self, char: str) -> str | None:
        """See `Silence`."""
        self._depth += (char == "(") - (char == ")")
        self._left -= 1
        if char == "\n":
            return char
        return None if self._depth and self._left else ""
