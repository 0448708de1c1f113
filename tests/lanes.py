"""Lanes of an arena without processes, for tests that play all the neighbours."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ringbuf import Arena, BellPipe
from stages.lane import Lane
from stages.topology import topology


@contextmanager
def open_lanes(lanes: int = 1) -> Iterator[Callable[..., Lane]]:
    """Lanes of one arena as any process sees them; lane 0 if no other is named."""
    layout = topology(lanes=lanes, context=256)
    bells = {name: BellPipe.create() for name in layout.processes}
    owner = Arena.create(layout, "control", bells)
    arenas = [owner]

    def lane(process: str, number: int = 0) -> Lane:
        arena = Arena.attach(os.dup(owner.fd), process, bells)
        arenas.append(arena)
        return Lane(arena.lane(number), process, arena.events(process))

    yield lane
    for arena in arenas:
        arena.close()
    for bell in bells.values():
        bell.close()
