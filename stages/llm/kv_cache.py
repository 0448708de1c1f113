"""The keys and values of one lane: preallocated, contiguous, rolled back by a length.

transformers' own caches grow by concatenation (a copy of everything per step) or read all of their
capacity through a mask. This one writes in place and hands attention a view of what is filled. It
asks of transformers' base classes no more than that they call `update`, `get_mask_sizes` and
`get_seq_length`: everything else there has moved between versions.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


class KvCache:
    """The cache of one lane.

    Args:
        shapes: (heads, head size of keys, head size of values) of each layer.
        context: how many positions to allocate.

    Attributes:
        length: positions that are filled; assign a smaller one to roll back.
        cache: what a transformers model takes as its cache.
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, int, int]],
        context: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.length = 0
        self.context = context
        self.cache = Cache(layers=[_Layer(self, shape, dtype, device) for shape in shapes])


class _Layer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """Keys and values of one layer: [1, heads, context, head size]."""

    is_sliding = False  # a sliding layer keeps all of its keys here, and its mask hides the old

    def __init__(
        self,
        lane: KvCache,
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        heads, key_size, value_size = shape
        self._lane = lane
        self._keys = torch.empty(1, heads, lane.context, key_size, dtype=dtype, device=device)
        self._values = torch.empty(1, heads, lane.context, value_size, dtype=dtype, device=device)
        self.keys, self.values, self.is_initialized = self._keys, self._values, True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write behind what is filled; the length moves when the whole forward has succeeded."""
        start = self._lane.length
        stop = start + key_states.shape[-2]
        self._keys[:, :, start:stop] = key_states
        self._values[:, :, start:stop] = value_states
        return self._keys[:, :, :stop], self._values[:, :, :stop]

    def get_seq_length(self) -> int:
        """Positions before the ids of this forward."""
        return self._lane.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that attention is given."""
        return self._lane.length + query_length, 0

    def get_max_length(self) -> int:
        """Positions allocated."""
        return self._lane.context

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing: the memory is there from the start."""
