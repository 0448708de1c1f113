"""The engine contract: a language model that keeps every lane's conversation, in ids."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Engine(Protocol):
    """One loaded model and the content of each open lane.

    A lane's content is a list of ids, and its positions count from 0. The content *is* the model's
    cache: what was given once is not computed again, and a rollback moves a length. A call that
    raises leaves the lane's content as it was.

    Attributes:
        context: how many ids a lane can hold.
    """

    context: int

    def open(self, lane: int) -> None:
        """Begin an empty lane; its cache is allocated here and not again.

        Raises:
            StageError: there is no memory for its cache.
        """

    def extend(self, lane: int, ids: NDArray[np.int32], position: int) -> None:
        """Append ids to a lane's content and compute what they leave in the cache.

        Args:
            lane: an open lane.
            ids: int32 [n], n at least 1; read during the call only, so a ring's view will do.
            position: of ids[0]; must equal the lane's length.

        Raises:
            StageError: an id is not in the vocabulary, or the ids do not fit in the context.
            ValueError: position is not the lane's length.
        """

    def rollback(self, lane: int, position: int) -> None:
        """Forget everything from position on; nothing is copied.

        Raises:
            ValueError: position is beyond the lane's length.
        """

    def step(self, lanes: Sequence[int]) -> list[int]:
        """Choose the next id of each lane and append it to that lane's content.

        Args:
            lanes: open lanes with at least one id and room for one more.

        Returns:
            One id for each lane, in order; a stop id is an id like any other.

        Raises:
            StageError: the context is full, or the model's output is not a number.
        """

    def temper(self, lane: int, temperature: float | None) -> None:
        """Choose a lane's ids with this temperature from here on, until it is closed.

        Args:
            temperature: as in `Sampling`; None: the configured one.

        Raises:
            StageError: this engine has one for all lanes.
        """

    def length(self, lane: int) -> int:
        """How many ids a lane's content has."""

    def close(self, lane: int) -> None:
        """Forget a lane and give its memory back."""


def warm_up(engine: Engine) -> None:
    """Use everything once, so that the first turn is as fast as the second."""
    lane = -1
    engine.open(lane)
    engine.extend(lane, np.zeros(8, np.int32), 0)
    engine.extend(lane, np.zeros(8, np.int32), 8)
    for _ in range(2):
        engine.step([lane])
    engine.close(lane)
