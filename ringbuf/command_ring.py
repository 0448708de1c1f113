"""Small messages of bytes beside the hot path."""

import struct

import numpy as np

from ringbuf.errors import MessageTooLong
from ringbuf.ring import SlotRing

LENGTH = struct.Struct("<I")


class CommandRing(SlotRing):
    """A ring of bytes that carries whole messages, each behind its length."""

    @property
    def longest(self) -> int:
        """Bytes of the longest message that can ever fit."""
        return self.spec.capacity - LENGTH.size

    def put(self, message: bytes, *, timeout: float | None = None) -> bool:
        """Publish one message, whole.

        Args:
            timeout: seconds to wait for room; None only tries.

        Returns:
            False if there was no room: nothing was written, and this lane is woken when there is.

        Raises:
            MessageTooLong: it can never fit.
            RingFull: there was no room within `timeout`.
            PeerDied: the reader is dead, and there was no room.
            Closed: the arena is closed.
        """
        if len(message) > self.longest:
            raise MessageTooLong(len(message), self.longest)
        data = np.frombuffer(LENGTH.pack(len(message)) + message, np.uint8)
        if not self._has_room(len(data), timeout):
            return False
        done = 0
        for span in self._spans(self._core.write_slot, len(data)):
            size = span.stop - span.start
            self._columns["bytes"][span.start : span.stop] = data[done : done + size]
            done += size
        self._core.publish(len(data))
        return True

    def put_or_drop(self, message: bytes) -> bool:
        """Publish one message, or count it as dropped: for readers that may not be there."""
        if self.put(message):
            return True
        self._core.drop(1)
        return False

    def keep(self, message: bytes) -> None:
        """Replace all that is unread by one message, so that at every instant one is there.

        For a process that writes to itself: what it keeps here outlives it.

        Raises:
            MessageTooLong: it does not fit beside the one before.
        """
        before = self._core.filled()
        if not self.put(message):
            raise MessageTooLong(len(message), self.free() - LENGTH.size)
        self._core.release(before)

    def kept(self) -> list[bytes]:
        """All that is unread, oldest first, without taking it: what `keep` wrote, and puts behind.

        A process that dies inside `keep` leaves what was before it there too.
        """
        return self._messages(self._core.filled())

    def read(self, *, strict: bool = False) -> list[bytes]:
        """All whole messages, oldest first; they are released.

        Raises:
            Overrun: `strict`, and messages were dropped since the last such call.
        """
        if strict:
            self.check_lost()
        count = self._core.filled()
        if not count:  # almost always: sessions look at every step
            return []
        try:
            return self._messages(count)
        finally:  # broken ones are not met twice
            self._core.release(count)

    def _messages(self, count: int) -> list[bytes]:
        """The messages in the first `count` bytes: what is put meanwhile is not among them."""
        spans = self._spans(self._core.read_slot, count)
        data = b"".join(self._columns["bytes"][s.start : s.stop].tobytes() for s in spans)
        messages, at = [], 0
        while at < count:
            (length,) = LENGTH.unpack_from(data, at)
            messages.append(data[at + LENGTH.size : at + LENGTH.size + length])
            at += LENGTH.size + length
        return messages
