"""How loud the microphone is, as a bar: pure."""

FLOOR_DBFS = -60.0  # at which the bar is empty
FULL, EMPTY = "█", "░"
ASCII_FULL, ASCII_EMPTY = "#", "."


def bar(level_dbfs: float, width: int, *, ascii_only: bool = False) -> str:
    """A bar of `width` characters, empty at FLOOR_DBFS and full at 0 dBFS.

    Args:
        level_dbfs: of the last block; minus infinity is digital silence.
    """
    full, empty = (ASCII_FULL, ASCII_EMPTY) if ascii_only else (FULL, EMPTY)
    share = min(1.0, max(0.0, 1.0 - level_dbfs / FLOOR_DBFS))
    count = round(share * width)
    return full * count + empty * (width - count)
