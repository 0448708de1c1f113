"""Sound on its way from one stage to the next, with what is ordered with it."""

import time
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringbuf import _core
from ringbuf.ends import Ends
from ringbuf.layout import RingSpec
from ringbuf.ring import Batch, Column, SlotRing


class Mark(IntEnum):
    """What a block of speech says besides its sound."""

    NONE = 0
    START = 1  # an utterance begins with this block
    PAUSE = 2  # the voice may be over; until it is heard again there is only silence
    SOFT_END = 3  # the pause is worth starting an answer on; nothing is audible yet
    RESUME = 4  # the speaker went on after a soft end
    RELEASE = 5  # the turn is over for good
    GREET = 6  # nobody spoke: the answer is the greeting
    ASK = 7  # nobody spoke: an answer to what was said before
    DROP = 8  # the utterance is to be forgotten


class AudioBlock(NamedTuple):
    """One block of mono sound.

    Attributes:
        samples: int16 [n], a view of shared memory: valid until the block is released.
        first: index of its first sample in the stream (or in the answer).
        rate: samples per second.
        position: how many of the answer's ids are voiced by the end of this block.
        lost: samples that the writer had to drop just before this block.
        stamp: monotonic ns at which it was put, or what its writer said.
    """

    samples: NDArray[np.int16]
    first: int
    rate: int
    turn: int
    answer: int
    mark: Mark
    position: int
    lost: int
    stamp: int


MARKS = tuple(Mark)


class AudioRing(SlotRing):
    """Slots of up to `block` int16 samples with their rate, time and numbers."""

    def __init__(
        self,
        spec: RingSpec,
        core: _core.Ring,
        columns: dict[str, Column],
        slots: _core.Columns,
        ends: Ends | None = None,
    ) -> None:
        super().__init__(spec, core, columns, ends)
        self._samples: NDArray[np.int16] = columns["samples"]
        self._slots = slots
        self.block = spec.block

    def put(
        self,
        samples: NDArray[np.int16],
        *,
        first: int,
        rate: int,
        turn: int = 0,
        answer: int = 0,
        mark: Mark = Mark.NONE,
        position: int = 0,
        lost: int = 0,
        stamp: int | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Publish one block: its samples are copied once, into the slot.

        Args:
            samples: int16 [n], n at most `block`; a block may carry a mark and no sound.
            first: index of its first sample in the stream, int64.
            rate: samples per second.
            lost: samples that were dropped just before it.
            stamp: monotonic ns that the reader is told; None: now.
            timeout: seconds to wait for room; None only tries.

        Returns:
            False if there was no room: nothing was written, and this lane is woken when there is.

        Raises:
            ValueError: the block is too long or not int16.
            RingFull: there was no room within `timeout`.
            PeerDied: the reader is dead, and there was no room.
            Closed: the arena is closed.
        """
        count = len(samples)
        if count > self.block or samples.dtype != np.int16:
            raise ValueError(
                f"{self.spec.name} takes at most {self.block} int16 samples a block, "
                f"not {count} of {samples.dtype}"
            )
        if not self._has_room(1, timeout):
            return False
        slot = self._core.write_slot
        self._samples[slot, :count] = samples
        at = time.monotonic_ns() if stamp is None else stamp
        self._slots.set(slot, first, count, rate, turn, answer, position, lost, mark, at)
        self._core.publish(1)
        return True

    def count_lost(self, samples: int) -> None:
        """Count samples that found no room: a microphone cannot wait, so it drops the newest block.

        The next block says so in `lost`; a reader may also ask `check_lost`.
        """
        self._core.drop(samples)

    def read(self, limit: int | None = None) -> "AudioBatch":
        """Everything there is, at most `limit` blocks, for the length of a `with` block."""
        return AudioBatch(self, limit)

    def peek(self) -> AudioBlock | None:
        """The next block without taking it, or None."""
        return self._block(self._core.read_slot) if self._core.filled() else None

    def drop(self, count: int = 1) -> None:
        """Release blocks that were peeked at."""
        self._core.release(count)

    def _block(self, slot: int) -> AudioBlock:
        first, valid, rate, turn, answer, position, lost, mark, stamp = self._slots.get(slot)
        samples = self._samples[slot, :valid]
        return AudioBlock(samples, first, rate, turn, answer, MARKS[mark], position, lost, stamp)


class AudioBatch(Batch[AudioRing]):
    """Blocks being read."""

    def __iter__(self) -> Iterator[AudioBlock]:
        for span in self.spans():
            for slot in range(span.start, span.stop):
                yield self.ring._block(slot)
