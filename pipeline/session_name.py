"""The name that everything kept of one conversation has in common."""

from datetime import UTC, datetime
from pathlib import Path


def session_file(folder: str, opened: int, lane: int, suffix: str) -> Path:
    """Such as FOLDER/2026-01-31T09-30-00.123456Z-lane-0.wav: no two conversations share it.

    Args:
        folder: may begin with `~`.
        opened: wall-clock ns at which the conversation was opened.
        suffix: with its dot.
    """
    at = datetime.fromtimestamp(opened // 1000 / 1e6, UTC)
    return Path(folder).expanduser() / f"{at:%Y-%m-%dT%H-%M-%S.%fZ}-lane-{lane}{suffix}"
