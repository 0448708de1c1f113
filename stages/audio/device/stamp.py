"""What one call of the device's callback moved, and when that was sound."""

from typing import NamedTuple


class Stamp(NamedTuple):
    """One call; see `_port.c`.

    Attributes:
        at: monotonic ns of the call.
        heard_at: monotonic ns at which the first frame of the input was sound.
        played_at: the same of the output; it is yet to come.
        input: index of the first frame that was heard.
        output: index of the first frame of a voice that was played.
        frames: that the device gave, and asked for.
        heard: of these, how many were kept.
        played: of these, how many were a voice; silence came behind them.
    """

    at: int
    heard_at: int
    played_at: int
    input: int
    output: int
    frames: int
    heard: int
    played: int
