"""Markdown that arrives in pieces: code blocks and link targets are not said.

What is left of markup (emphasis, headings, bullets) is dropped word by word; see `speakable`.
"""

_FENCE = "```"
_LONGEST_TARGET = 2000  # characters; what is longer was no link


class MarkupFilter:
    """Text of one answer without what is only for the eye.

    At most two back-ticks are held back. A code block that is never closed silences the rest.
    """

    def __init__(self) -> None:
        self._ticks: list[int] = []  # positions of back-ticks that may become a fence
        self._in_code = False
        self._last = ""  # character before
        self._target = 0  # characters of the link's target so far; 0: there is none

    def feed(self, char: str, position: int) -> list[tuple[str, int]]:
        """Characters to say, each with the position of the id that completed it."""
        if char == "`":
            self._ticks.append(position)
            if len(self._ticks) < len(_FENCE):
                return []
            self._ticks.clear()
            self._in_code = not self._in_code
            return [] if self._in_code else [("\n", position)]  # whatever follows is a new line
        held = [("`", at) for at in self._ticks]
        self._ticks.clear()
        return [] if self._in_code else [*held, *self._visible(char, position)]

    def flush(self) -> list[tuple[str, int]]:
        """What was held back when the reply ended."""
        held = [] if self._in_code else [("`", at) for at in self._ticks]
        self._ticks.clear()
        return held

    def _visible(self, char: str, position: int) -> list[tuple[str, int]]:
        last, self._last = self._last, char
        if self._target:
            is_over = char in ")\n" or self._target > _LONGEST_TARGET
            self._target = 0 if is_over else self._target + 1
            return [(char, position)] if char == "\n" else []
        if last == "]" and char == "(":
            self._target = 1
            return []
        return [(char, position)]
