"""When samples are put in or left out, so that a microphone's count keeps to our clock: pure.

Sample n of a lane is the sound of `t0 + n / 16000`. A device's crystal is wrong by up to some
hundred millionths: a third of a second in an hour. What is missing is put in, and what is too much
left out, once it is more than 20 ms and the room is quiet, where nobody hears it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.audio.level import block_dbfs
from stages.messages import Levels
from stages.topology import INPUT_RATE

LIMIT = INPUT_RATE // 50  # samples in 20 ms
QUIET_BLOCKS = 10  # in a row, a third of a second
SETTLED_BLOCKS = 64  # two seconds, in which a device's clock becomes known
ABOVE_FLOOR_DB = 6.0
RISE_DB = 0.01  # of the floor in a block, so that it follows a room that becomes louder


def dbfs(samples: NDArray[np.int16]) -> float:
    """The level of a block, not below `Levels.SILENT`."""
    return max(Levels.SILENT, block_dbfs(samples))


@dataclass
class Quiet:
    """Whether only the room is heard."""

    _floor: float = 0.0
    _blocks: int = 0

    def feed(self, level: float) -> bool:
        """One more block, by its level in dBFS; whether it has been quiet for a while."""
        self._floor = min(level, self._floor + RISE_DB)
        self._blocks = self._blocks + 1 if level <= self._floor + ABOVE_FLOOR_DB else 0
        return self._blocks >= QUIET_BLOCKS


@dataclass
class Drift:
    """How far a count is from the clock.

    Attributes:
        corrections: so far.
    """

    corrections: int = 0
    _base: int = 0  # ns of sample 0
    _blocks: int = 0  # since counting began
    _sample_ns: int = 1_000_000_000 // INPUT_RATE

    def missing(self, sample: int, at: int, *, is_quiet: bool) -> int:
        """How many samples to put in before this one now; below zero: how many to leave out.

        Args:
            sample: its number.
            at: when it was sound, monotonic ns.
        """
        self._blocks += 1
        if self._blocks <= SETTLED_BLOCKS:
            self._base = at - sample * self._sample_ns
            return 0
        missing = (at - self._base) // self._sample_ns - sample
        if not is_quiet or abs(missing) <= LIMIT:
            return 0
        self.corrections += 1
        return missing

    def restart(self) -> None:
        """Take the next seconds' count as right."""
        self._blocks = 0
