"""The keys and values of lanes: preallocated, contiguous, rolled back by a length.

transformers' own caches grow by concatenation (a copy of everything per step) or hold one batch of
sequences that advance together. Here every lane has a slot of fixed memory; a computation says
which slots and positions it writes, and attention gets a view of the bucket. It asks of
transformers' base classes no more than that they call `update`, `get_mask_sizes` and
`get_seq_length`: everything else there has moved between versions.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


class KvCache:
    """The cache of some lanes.

    Nothing here knows how much is filled: what lies behind a lane's length is void, is hidden by
    the mask, and is written over.

    Args:
        shapes: (heads, head size of keys, head size of values) of each layer.
        slots: lanes that it has memory for.
        capacity: positions of each.

    Attributes:
        cache: what a transformers model takes as its cache.
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, int, int]],
        slots: int,
        capacity: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.capacity = capacity
        self.slots: torch.Tensor | None = None
        self.positions = torch.zeros(1, 1, dtype=torch.int64)
        self.bucket = capacity
        self.layers = [_Layer(self, shape, slots, dtype, device) for shape in shapes]
        self.cache = Cache(layers=list(self.layers))

    def aim(self, slots: torch.Tensor | None, positions: torch.Tensor, bucket: int) -> None:
        """Say what the next forward writes and reads.

        Args:
            slots: int64 [lanes]; none: the first one, which is then read without a copy.
            positions: int64 [lanes, rows], of each row.
            bucket: positions that attention reads, from 0.
        """
        self.slots, self.positions, self.bucket = slots, positions, bucket


class _Layer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """Keys and values of one layer: [slots, heads, capacity, head size]."""

    is_sliding = False  # a sliding layer keeps all of its keys here, and its mask hides the old

    def __init__(
        self,
        kv: KvCache,
        shape: tuple[int, int, int],
        slots: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        heads, key_size, value_size = shape
        self._kv = kv
        # Zeros, because a masked key has no weight, but nothing times NaN is still NaN.
        room = (slots, heads, kv.capacity)
        self.keys: torch.Tensor = torch.zeros(*room, key_size, dtype=dtype, device=device)
        self.values: torch.Tensor = torch.zeros(*room, value_size, dtype=dtype, device=device)
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write where the forward is aimed; what is beyond the ids given is written in vain."""
        return self._write(self.keys, key_states), self._write(self.values, value_states)

    def _write(self, memory: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Put states [lanes, heads, rows, size] into a memory; the bucket of those lanes."""
        kv = self._kv
        if kv.slots is None:
            memory.index_copy_(2, kv.positions[0], states)
            return memory[:1, :, : kv.bucket]
        memory[kv.slots[:, None], :, kv.positions] = states.transpose(1, 2)
        return memory[:, :, : kv.bucket].index_select(0, kv.slots)

    def get_seq_length(self) -> torch.Tensor:  # type: ignore[override]
        """Position of each lane's first row, int64 [lanes, 1]; `attention.mask` gets it."""
        return self._kv.positions[:, :1]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that attention is given."""
        return self._kv.bucket, 0

    def get_max_length(self) -> int:
        """Positions allocated."""
        return self._kv.capacity

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing: the memory is there from the start."""
