"""Every error of the rings.

RingError
 ├── LayoutMismatch   this memory is not an arena of our version and shape
 ├── ArenaFull        a lane could not get its memory
 ├── RingFull         a put with a deadline found no room in time
 ├── PeerDied         the process at the other end is dead, by the supervisor's word
 ├── Overrun          a reader that asked for everything is told what was lost
 ├── Closed           a ring, lane or bell was used after its arena was closed
 ├── MessageTooLong   a command can never fit in its ring
 └── NoArena          a process has no arena that could be looked at
"""


class RingError(Exception):
    """Base of all errors of ringbuf."""


class LayoutMismatch(RingError):
    """The memory is not an arena, or not one that this version can read.

    Attributes:
        seen: what the memory holds.
        expected: what it should.
    """

    def __init__(self, seen: str, expected: str) -> None:
        super().__init__(f"this is not an arena that we can read: saw {seen}, expected {expected}")
        self.seen = seen
        self.expected = expected


class ArenaFull(RingError):
    """A lane could not get its memory; nothing was taken.

    Attributes:
        needs: bytes that the lane takes.
        left: bytes that the system had left, None where it does not say.
    """

    def __init__(self, lane: int, needs: int, left: int | None, why: str = "") -> None:
        stated = "an unknown amount" if left is None else f"{left / 2**20:.1f} MiB"
        reason = f" ({why})" if why else ""
        super().__init__(
            f"lane {lane} needs {needs / 2**20:.1f} MiB of shared memory, {stated} is left{reason}"
        )
        self.lane = lane
        self.needs = needs
        self.left = left


class RingFull(RingError):
    """A put with a deadline found no room in time.

    Attributes:
        not_written: slots (bytes of a command) that are still with the caller.
        reader: the process that did not read.
        waited_s: for how long.
    """

    def __init__(self, ring: str, not_written: int, reader: str, waited_s: float) -> None:
        super().__init__(
            f"{ring} is full: {not_written} not written, "
            f"{reader} has made no room for {waited_s:.3g} s"
        )
        self.ring = ring
        self.not_written = not_written
        self.reader = reader
        self.waited_s = waited_s


class PeerDied(RingError):
    """The process at the other end is dead, by the supervisor's word.

    Attributes:
        process: who.
        not_written: slots that were still to be put; what was put before may never be read.
    """

    def __init__(self, ring: str, process: str, not_written: int = 0) -> None:
        rest = f", {not_written} not written" if not_written else ""
        super().__init__(f"{process}, at the other end of {ring}, has died{rest}")
        self.ring = ring
        self.process = process
        self.not_written = not_written


class Overrun(RingError):
    """Something was dropped for lack of room; what is in the ring is still there to be read.

    Attributes:
        lost: how many slots (samples of a microphone, messages of a command ring).
    """

    def __init__(self, ring: str, lost: int) -> None:
        super().__init__(f"{ring} has lost {lost}: its reader was too slow")
        self.ring = ring
        self.lost = lost


class Closed(RingError):
    """A ring, lane or bell was used after its arena was closed. Views stay valid."""


class MessageTooLong(RingError):
    """A command can never fit in its ring."""

    def __init__(self, length: int, longest: int) -> None:
        super().__init__(f"a message of {length} bytes; this ring carries at most {longest}")


class NoArena(RingError):
    """A process has no arena that could be looked at."""
