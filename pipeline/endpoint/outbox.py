"""What waits for a slow reader: bounded, by a stated rule. Pure.

Events are never dropped: when more than `events` wait, the reader is too slow to be served. Of
sound, only so much waits: what is oldest is left out, whole messages at a time, and where it was
left out stands a note of how much, which the protocol turns into an event of its own. Sound that
became stale is taken out without a note.
"""

from collections import deque
from dataclasses import dataclass


class SlowReaderError(Exception):
    """More events wait than may."""


@dataclass(slots=True)
class Audio:
    """Sound that waits.

    Attributes:
        message: as it will be sent.
        answer: that it belongs to.
        ms: how long it sounds.
    """

    message: bytes | str
    answer: int
    ms: float


@dataclass(slots=True)
class Gap:
    """Sound of an answer that was left out here."""

    answer: int
    ms: float


Item = str | Audio | Gap


class Outbox:
    """The queue of one connection.

    Args:
        sound_ms: of sound that may wait.
        events: that may wait.

    Attributes:
        dropped_ms: of sound, in all.
    """

    def __init__(self, sound_ms: float, events: int) -> None:
        self.dropped_ms = 0.0
        self._most_ms = sound_ms
        self._most_events = events
        self._items: deque[Item] = deque()
        self._ms = 0.0
        self._events = 0

    def __len__(self) -> int:
        return len(self._items)

    def put_event(self, text: str) -> None:
        """Add an event.

        Raises:
            SlowReaderError: too many wait.
        """
        if self._events >= self._most_events:
            raise SlowReaderError(f"{self._events} events wait")
        self._events += 1
        self._items.append(text)

    def put_audio(self, audio: Audio) -> None:
        """Add sound; what is oldest makes room for it."""
        self._items.append(audio)
        self._ms += audio.ms
        while self._ms > self._most_ms:
            self._drop_oldest()

    def take(self) -> Item | None:
        """The next thing to send."""
        if not self._items:
            return None
        item = self._items.popleft()
        if isinstance(item, Audio):
            self._ms -= item.ms
        elif isinstance(item, str):
            self._events -= 1
        return item

    def cut(self, answer: int) -> None:
        """This answer became stale: its sound need not be sent."""
        kept = [i for i in self._items if isinstance(i, str) or i.answer != answer]
        self._items = deque(kept)
        self._ms = sum(item.ms for item in kept if isinstance(item, Audio))

    def _drop_oldest(self) -> None:
        index = next(i for i, item in enumerate(self._items) if isinstance(item, Audio))
        oldest = self._items[index]
        assert isinstance(oldest, Audio)
        self._ms -= oldest.ms
        self.dropped_ms += oldest.ms
        before = self._items[index - 1] if index else None
        if isinstance(before, Gap) and before.answer == oldest.answer:
            before.ms += oldest.ms
            del self._items[index]
        else:
            self._items[index] = Gap(oldest.answer, oldest.ms)
