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
        records = [
            EventRecord(*(int(self._columns[name][slot % self.spec.capacity]) for name in FIELDS))
            for slot in range(first, first + count)
        ]
        self._core.release(count)
        return records
