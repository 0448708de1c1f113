"""The rings and words of a lane made of queues: what `overhead` compares ours with.

They have the methods that the stages use, so that the same stages run over either. Whatever a
process writes is a message into the inbox of whoever reads it; nothing is ever full.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic_ns
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringbuf import AudioBlock, Kind, Layout, Mark, RingKind, RingSpec, TokenRun

T = TypeVar("T")
Message = tuple[int, str, Any]
"""Lane, ring or word, and its items or value."""
Send = Callable[[str, Message], None]
"""Puts a message into a process's inbox."""


class QueueRing(Generic[T]):
    """One arrow of one lane.

    Args:
        spec: its name and ends.
        lane: number of the lane.
        send: to its reader; a process that reads what it writes needs none.
    """

    def __init__(self, spec: RingSpec, lane: int, send: Send) -> None:
        self.spec = spec
        self.block = spec.block
        self.items: deque[T] = deque()
        self._lane = lane
        self._send = send
        self._held: list[T] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def free(self) -> int:
        """There is always room."""
        return self.spec.capacity

    def skip(self) -> None:
        """Forget everything that was not read yet."""
        self.items.clear()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is put inside the block is one message."""
        self._held = []
        try:
            yield
        finally:
            items, self._held = self._held, None
            if items:
                self._pass_on(items)

    def _put(self, item: T) -> None:
        if self._held is not None:
            self._held.append(item)
        else:
            self._pass_on([item])

    def _pass_on(self, items: list[T]) -> None:
        if self.spec.reader == self.spec.writer:
            self.items.extend(items)
        else:
            self._send(self.spec.reader, (self._lane, self.spec.name, items))


class QueueBatch(Generic[T]):
    """Items being read; those that count are dropped when the block ends."""

    def __init__(self, ring: QueueRing[T], size: Callable[[T], int]) -> None:
        self._items = ring.items
        self._size = size
        self._taken: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._taken is None:
            self._items.clear()
            return
        while self._items and self._taken >= self._size(self._items[0]):
            self._taken -= self._size(self._items.popleft())

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._items))

    def consume(self, count: int) -> None:
        """Drop only so many slots."""
        self._taken = count


class RunBatch(QueueBatch[TokenRun]):
    """Ids being read."""

    def runs(self) -> Iterator[TokenRun]:
        """The items, as a ring of tokens calls them."""
        return iter(self)

    def stamps(self) -> list[int]:
        """When each id was sent."""
        return [run.stamp for run in self for _ in run.ids]


class AudioQueue(QueueRing[AudioBlock]):
    """Blocks of sound."""

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
    ) -> bool:
        """Send one block."""
        at = monotonic_ns() if stamp is None else stamp
        self._put(AudioBlock(samples, first, rate, turn, answer, mark, position, lost, at))
        return True

    def read(self, limit: int | None = None) -> QueueBatch[AudioBlock]:
        """Everything there is."""
        return QueueBatch(self, lambda block: 1)

    def peek(self) -> AudioBlock | None:
        """The next block without taking it."""
        return self.items[0] if self.items else None

    def drop(self, count: int = 1) -> None:
        """Release blocks that were peeked at."""
        for _ in range(count):
            self.items.popleft()


class TokenQueue(QueueRing[TokenRun]):
    """Ids."""

    def put(self, id: int, *, position: int, turn: int, answer: int, kind: Kind = Kind.ID) -> bool:
        """Send one id."""
        ids = np.array([id], np.int32)
        self._put(TokenRun(ids, position, turn, answer, kind, monotonic_ns()))
        return True

    def put_run(self, ids: NDArray[np.int32], *, position: int, turn: int, answer: int) -> int:
        """Send ids at consecutive positions."""
        self._put(TokenRun(ids, position, turn, answer, Kind.ID, monotonic_ns()))
        return len(ids)

    def read(self, limit: int | None = None) -> RunBatch:
        """Everything there is."""
        return RunBatch(self, lambda run: len(run.ids))


class CommandQueue(QueueRing[bytes]):
    """Whole messages of bytes."""

    @property
    def longest(self) -> int:
        """As long as a ring's."""
        return self.spec.capacity - 4

    def put(self, message: bytes) -> bool:
        """Send one message."""
        self._put(message)
        return True

    put_or_drop = put

    def read(self) -> list[bytes]:
        """All messages; they are released."""
        messages = list(self.items)
        self.items.clear()
        return messages

    def free(self) -> int:
        """What a process keeps for itself takes room here too."""
        return self.spec.capacity - sum(map(len, self.items))

    def keep(self, message: bytes) -> None:
        """Replace all that is unread by one message."""
        self.items.clear()
        self.put(message)

    def kept(self) -> list[bytes]:
        """All that is unread, without taking it."""
        return list(self.items)


KINDS: dict[RingKind, type[QueueRing[Any]]] = {
    RingKind.AUDIO: AudioQueue,
    RingKind.TOKEN: TokenQueue,
    RingKind.COMMAND: CommandQueue,
}
READ_BESIDES = {  # words that are also read by processes that they do not wake
    "turn": ("audio", "control"),
    "released": ("llm", "tts"),
    "voice_end": ("turn",),
    "ended": ("control",),
}


class QueueLane:
    """One conversation as `ringbuf.Lane` shows it: each process has a copy of the words it reads.

    Args:
        number: of the lane.
        layout: names, ends and wakes.
        me: this process.
        send: to other processes.
    """

    def __init__(self, number: int, layout: Layout, me: str, send: Send) -> None:
        self.number = number
        self.rings = {spec.name: KINDS[spec.kind](spec, number, send) for spec in layout.rings}
        self.words = dict.fromkeys((spec.name for spec in layout.words), 0)
        self._me = me
        self._send = send
        self._readers = {
            spec.name: {*spec.wakes, *READ_BESIDES.get(spec.name, ())} - {me}
            for spec in layout.words
        }

    def get(self, word: str) -> int:
        """A word, as far as this process has heard."""
        return self.words[word]

    def set(self, word: str, value: int) -> None:
        """Store a word and tell everyone who reads it."""
        self.words[word] = value
        for reader in self._readers[word]:
            self._send(reader, (self.number, word, value))

    def receive(self, name: str, what: Any) -> None:
        """A message has come."""
        if name in self.rings:
            self.rings[name].items.extend(what)
        else:
            self.words[name] = what

    def audio(self, name: str) -> Any:
        """The ring of that name."""
        return self.rings[name]

    token = command = audio

    def skip(self, reader: str, *, keep_own: bool = False) -> None:
        """Forget everything unread in the rings that `reader` reads."""
        for ring in self.rings.values():
            if ring.spec.reader == reader and not (keep_own and ring.spec.writer == reader):
                ring.skip()


class NoEvents:
    """Where the records of timelines go: they would be one more message each."""

    dropped = 0

    def put(self, record: object) -> None:
        """Forget it."""

    def take(self) -> Sequence[Any]:
        """None are kept."""
        return ()
