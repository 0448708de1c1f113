"""The private thoughts of a reasoning model: `<think>` to `</think>` is not spoken."""

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkingFilter:
    """Text of one answer without its thinking spans, however the tags are split into pieces.

    At most one unfinished tag is held back. A span that is never closed silences the rest.
    """

    def __init__(self) -> None:
        self._inside = False
        self._held = ""
        self._positions: list[int] = []

    def feed(self, text: str, position: int) -> list[tuple[str, int]]:
        """Pieces to speak, each with the position of the id that completed it."""
        pieces: list[tuple[str, int]] = []
        for char in text:
            self._held += char
            self._positions.append(position)
            pieces += self._release()
        return pieces

    def flush(self) -> list[tuple[str, int]]:
        """The unfinished tag that the reply ended in: it was text after all."""
        rest = [] if self._inside else list(zip(self._held, self._positions, strict=True))
        self._held, self._positions = "", []
        return rest

    def _release(self) -> list[tuple[str, int]]:
        tag = _CLOSE if self._inside else _OPEN
        if self._held == tag:
            self._inside = not self._inside
            self._held, self._positions = "", []
        pieces = []
        while not tag.startswith(self._held):
            if not self._inside:
                pieces.append((self._held[0], self._positions[0]))
            self._held, self._positions = self._held[1:], self._positions[1:]
        return pieces
