"""What tests of several folders share."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ringbuf import Arena, BellPipe
from stages.lane import Lane
from stages.topology import topology

# Stages are started with it; tests that load onnxruntime themselves need it too.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# The machines that run this are shared and noisy: a slow example is no failure.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"


@pytest.fixture
def make_lane() -> Iterator[Callable[[str], Lane]]:
    """Lane 0 of one arena as any process sees it, without processes."""
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


@pytest.fixture
def recordings() -> Path:
    """Real recorded speech, which is not part of the project."""
    if not RECORDINGS.is_dir():
        pytest.skip("needs the recordings folder beside the project")
    return RECORDINGS
