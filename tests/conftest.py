"""What tests of several folders share."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from stages.lane import Lane
from tests.lanes import open_lanes

# Stages are started with it; tests that load onnxruntime themselves need it too.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# The machines that run this are shared and noisy: a slow example is no failure.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"


@pytest.fixture
def make_lane() -> Iterator[Callable[[str], Lane]]:
    """Lane 0 of one arena as any process sees it, without processes."""
    with open_lanes() as make_lane:
        yield make_lane


@pytest.fixture
def recordings() -> Path:
    """Real recorded speech, which is not part of the project."""
    if not RECORDINGS.is_dir():
        pytest.skip("needs the recordings folder beside the project")
    return RECORDINGS
