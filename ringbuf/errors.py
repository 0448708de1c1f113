"""Every error of the rings.

RingError
 ├── LayoutMismatch   this memory is not an arena of our version and shape
 ├── ArenaFull        a lane could not get its memory
 └── MessageTooLong   a command can never fit in its ring
"""


class RingError(Exception):
    """Base of all errors of ringbuf."""


class LayoutMismatch(RingError):
    """The memory is not an arena, or not one that this version can read."""

    def __init__(self, seen: str, expected: str) -> None:
        super().__init__(f"this is not an arena that we can read: saw {seen}, expected {expected}")


class ArenaFull(RingError):
    """A lane could not get its memory."""

    def __init__(self, lane: int, needed: int, cause: OSError) -> None:
        super().__init__(
            f"lane {lane} needs {needed / 2**20:.1f} MiB of shared memory, "
            f"and the system refused: {cause.strerror}"
        )


class MessageTooLong(RingError):
    """A command can never fit in its ring."""

    def __init__(self, length: int, longest: int) -> None:
        super().__init__(f"a message of {length} bytes; this ring carries at most {longest}")
