"""The pair that most tests of the rings use."""

from collections.abc import Iterator

import pytest

from tests.ringbuf.pair import Pair


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()
