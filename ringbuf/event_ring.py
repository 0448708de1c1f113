"""Timeline events: fixed-size records, the one kind of ring that may lose."""

from dataclasses import dataclass

from ringbuf.ring import SlotRing


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One thing that happened.

    Attributes:
        event: a number that the writer and the reader agree on.
        at: monotonic ns.
        value: what the event says it is.
    """

    lane: int
    turn: int
    answer: int
    event: int
    at: int
    value: int


FIELDS = tuple(EventRecord.__slots__)


class EventRing(SlotRing):
    """Slots of (lane, turn, answer, event uint32, at, value int64). The reader polls."""

    def put(self, record: EventRecord) -> None:
        """Publish one record; with no room it is dropped and counted."""
        if not self._core.free():
            self._core.drop(1)
            return
        slot = self._core.write_slot
        for name in FIELDS:
            self._columns[name][slot] = getattr(record, name)
        self._core.publish(1)

    def look(self, position: int) -> tuple[list[EventRecord], int]:
        """For somebody who is not the reader: records from a position on, as far as still there.

        Nothing is released. What was read already stays in its slots until they are written again.

        Args:
            position: 0, or what the last call gave.

        Returns:
            The records, oldest first, and the position behind them.
        """
        head, capacity = self._core.head, self.spec.capacity
        first = max(position, head - capacity)
        records = [self._record(slot) for slot in range(first, head)]
        overwritten = max(0, self._core.head - capacity - first)  # while we read
        return records[overwritten:], head

    def take(self, *, strict: bool = False) -> list[EventRecord]:
        """All records since the last call, oldest first.

        Raises:
            Overrun: `strict`, and records were dropped since the last such call. Those that were
                not are still there: ask again.
        """
        if strict:
            self.check_lost()
        count = self._core.filled()
        first = self._core.read_slot
        records = [self._record(slot) for slot in range(first, first + count)]
        self._core.release(count)
        return records

    def _record(self, slot: int) -> EventRecord:
        at = slot % self.spec.capacity
        return EventRecord(*(int(self._columns[name][at]) for name in FIELDS))
