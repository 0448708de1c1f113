"""What a program tells its supervisor while it starts, on a pipe that only the two share."""

import json
import os
import sys
from typing import Any

from pipeline.errors import VoxringError


class Report:
    """The stage's end of its ready pipe: one JSON object a line, to the supervisor alone."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def send(self, **message: Any) -> None:
        """Write one line; a supervisor that is gone is the lifeline's business."""
        try:
            os.write(self._fd, json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            return

    def progress(self, text: str, fraction: float | None) -> None:
        """What is being done, and how far it is."""
        self.send(progress=text, fraction=fraction)


def explain(error: Exception) -> dict[str, str]:
    """An error as the supervisor shows it."""
    if isinstance(error, VoxringError):
        return {"error": error.message, "remedy": error.remedy}
    if isinstance(error, ModuleNotFoundError):
        return {
            "error": f"the package {error.name} is not installed in {sys.executable}",
            "remedy": "Install it with: pip install 'voxring[local]'",
        }
    return {"error": f"{type(error).__name__}: {error}", "remedy": ""}
