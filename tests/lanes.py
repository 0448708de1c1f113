"""Lanes of an arena without processes, for tests that play all the neighbours."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ringbuf import Arena, BellPipe
from stages.lane import Lane
from stages.topology import topology


@contextmanager
def open_lanes() -> Iterator[Callable[[str], Lane]]:
    """Lane 0 of one arena as any process sees it."""
    layout = topology(lanes=1, context=256)
    bells = {name: BellPipe.create() for name in layout.processes}
    owner = Arena.create(layout, "control", bells)
    arenas = [owner]

    def lane(process: str) -> Lane:
        arena = Arena.attach(os.dup(owner.fd), process, bells)
        arenas.append(arena)
        return Lane(arena.lane(0), process, arena.events(process))

    yield lane
    for arena in arenas:
        arena.close()
    for bell in bells.values():
        bell.close()
