"""How long work tells a person that it goes on."""

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with what is being done, and the share that is done (0 to 1, None: not known)."""


def silent(text: str, fraction: float | None) -> None:
    """Tell nobody."""
