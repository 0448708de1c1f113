"""A writer and a reader of one small arena."""

import os

from ringbuf import Arena, BellPipe, Layout, RingKind, RingSpec, WordSpec

EVENTS = 4


def layout(capacity: int = 8) -> Layout:
    return Layout(
        processes=("a", "b"),
        lanes=2,
        rings=(
            RingSpec("ids", RingKind.TOKEN, "a", "b", capacity),
            RingSpec("sound", RingKind.AUDIO, "a", "b", capacity, 320),
            RingSpec("bytes", RingKind.COMMAND, "a", "b", 64),
        ),
        words=(
            WordSpec("word", "a", ("b",)),
            WordSpec("answer", "a", ("b",)),
            WordSpec("session", "a", ("b",)),
            WordSpec("ack", "b", ("a",)),
        ),
        events=EVENTS,
        text=64,
    )


class Pair:
    """A writer's and a reader's view of one arena."""

    def __init__(self, capacity: int = 8) -> None:
        self.bells = {name: BellPipe.create() for name in ("a", "b")}
        self.a = Arena.create(layout(capacity), "a", self.bells, b"text")
        self.b = Arena.attach(os.dup(self.a.fd), "b", self.bells)
        self.writer, self.reader = self.a.lane(1), self.b.lane(1)

    def attach_without_pipes(self, process: str) -> Arena:
        """A process whose bytes never arrive: as if it were killed just before each."""
        nowhere = dict.fromkeys(self.bells, BellPipe(-1, -1))
        return Arena.attach(os.dup(self.a.fd), process, nowhere)

    def close(self) -> None:
        self.a.close()
        self.b.close()
        for bell in self.bells.values():
            bell.close()
