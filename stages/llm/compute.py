"""What computes for the transformers engine: on a CPU at once, on a GPU by graphs."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from pipeline.errors import StageError
from stages.llm.buckets import Buckets, Piece
from stages.llm.forward import Forward
from stages.llm.kv_cache import KvCache
from stages.llm.sampling import Sampler, Sampling

BUCKET = 256  # on a CPU a bucket costs no graph; a finer step would save next to nothing
LONGEST = 64  # rows of a piece when its shape may vary

Choice = Callable[[], list[int]]
Progress = Callable[[str, float | None], None]


class Compute(Protocol):
    """Keys, values and scores of open lanes.

    Attributes:
        rows: of the chunk step.
        buckets: of its caches.
        is_batched: several lanes cost little more than one.
        runs_ahead: what comes after an id may be begun before the id is known.
        full_steps: ids of a reply before the cheaper ones; 0: none is cheaper.
    """

    rows: int
    buckets: Buckets
    is_batched: bool
    runs_ahead: bool
    full_steps: int

    def open(self, lane: int) -> None:
        """Begin a lane. Raises StageError if there is no memory for its cache."""

    def temper(self, lane: int, temperature: float | None) -> None:
        """See `Engine.temper`."""

    def chunk(self, lane: int, ids: NDArray[np.int32], piece: Piece) -> None:
        """Compute a piece of what was given to a lane; its last id has scores then.

        Args:
            ids: int32 [piece.count]; read before this returns.
        """

    def decode(
        self,
        lanes: Sequence[int],
        ids: Sequence[int | None],
        positions: Sequence[int],
        *,
        cheap: bool,
    ) -> None:
        """Compute one id of each lane, which then has scores.

        Args:
            ids: none: the one that was chosen last, which may not be known here yet.
            cheap: with less precision, where `full_steps` is above 0.
        """

    def choose(self, lanes: Sequence[int], contents: Sequence[NDArray[np.int32]]) -> Choice:
        """Choose by each lane's scores; call what is returned for the ids.

        Args:
            contents: int32 [n] of each lane, the conversation so far.

        Raises:
            StageError: (when called) scores are not numbers.
        """

    def close(self, lane: int) -> None:
        """Forget a lane."""


class EagerCompute:
    """Computes when it is asked to, one lane after the other: a batch would save a CPU nothing.

    Args:
        forward: the model.
        context: ids that each lane can hold.
        rows: of the chunk step; 0: each piece in a shape of its own, which saves the padding and
            makes the numbers depend on the portions in which ids arrive.
        sampling: how ids are chosen.
    """

    is_batched = False
    runs_ahead = False
    full_steps = 0

    def __init__(self, forward: Forward, context: int, rows: int, sampling: Sampling) -> None:
        self.rows = rows or LONGEST
        self.buckets = Buckets.even(context, BUCKET)
        self._forward = forward
        self._pad = rows > 0
        self._context = context
        self._sampling = sampling
        self._device = forward.model.device
        self._lanes: dict[int, _EagerLane] = {}
        self._ids = torch.zeros(1, self.rows, dtype=torch.int32, device=self._device)
        self._offsets = torch.arange(self.rows, device=self._device)[None]
        self._positions = torch.zeros_like(self._offsets)
        self._row = torch.zeros(1, dtype=torch.int64, device=self._device)

    def open(self, lane: int) -> None:
        """See `Compute.open`."""
        capacity = self._context + self.rows  # the padding of the last chunk is written too
        model = self._forward.model
        try:
            kv = KvCache(self._forward.shapes, 1, capacity, model.dtype, self._device)
        except RuntimeError as error:  # torch has no narrower name for it on a CPU
            raise StageError(
                f"no memory for the cache of lane {lane} ({self._context} ids): {error}",
                "Lower llm.context or the number of lanes",
            ) from error
        self._lanes[lane] = _EagerLane(kv, Sampler(self._sampling))

    def temper(self, lane: int, temperature: float | None) -> None:
        """See `Compute.temper`."""
        self._lanes[lane].sampler = Sampler(self._sampling.at(temperature))

    def chunk(self, lane: int, ids: NDArray[np.int32], piece: Piece) -> None:
        """See `Compute.chunk`."""
        rows = self.rows if self._pad else piece.count
        self._run(lane, ids, piece.start, piece.bucket, rows)

    def decode(
        self,
        lanes: Sequence[int],
        ids: Sequence[int | None],
        positions: Sequence[int],
        *,
        cheap: bool,
    ) -> None:
        """See `Compute.decode`."""
        for lane, id, position in zip(lanes, ids, positions, strict=True):
            assert id is not None
            self._run(lane, np.array([id], np.int32), position, self.buckets.of(position), 1)

    def choose(self, lanes: Sequence[int], contents: Sequence[NDArray[np.int32]]) -> Choice:
        """See `Compute.choose`."""
        return lambda: [
            self._lanes[lane].sampler.choose(self._lanes[lane].scores(), torch.from_numpy(content))
            for lane, content in zip(lanes, contents, strict=True)
        ]

    def scores(self, lane: int) -> torch.Tensor:
        """Of what may follow what was computed last, [vocabulary]."""
        return self._lanes[lane].scores()

    def close(self, lane: int) -> None:
        """See `Compute.close`."""
        self._lanes.pop(lane, None)

    def _run(self, lane: int, ids: NDArray[np.int32], start: int, bucket: int, rows: int) -> None:
        state = self._lanes[lane]
        self._ids[0, : len(ids)] = torch.from_numpy(ids)
        torch.add(self._offsets, start, out=self._positions)
        self._row.fill_(len(ids) - 1)
        positions = self._positions[:, :rows]
        state.kv.aim(None, positions, bucket)
        state.logits = self._forward(state.kv, self._ids[:, :rows], positions, self._row)[0]


class _EagerLane:
    """A lane's cache and scores."""

    def __init__(self, kv: KvCache, sampler: Sampler) -> None:
        self.kv = kv
        self.sampler = sampler
        self.logits: torch.Tensor | None = None

    def scores(self) -> torch.Tensor:
        assert self.logits is not None
        return self.logits
