"""Attention over a static cache, and over a shared key head without copying it.

The mask is made of positions that lie on the device, so that one captured graph serves every
position of a bucket.

With grouped-query attention several query heads read the same keys. Where a mask is needed,
transformers' `sdpa` first repeats keys and values for each query head: a copy of the whole history
in every layer of every prefill. Query heads that share a key head can just as well stand in one
row, one after the other: [lanes, heads, n, size] becomes [lanes, key heads, group * n, size], and
the mask is repeated instead, which is small. The same products and sums, so the same numbers.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "voxring_sdpa"


def register() -> str:
    """Make this attention known to transformers.

    Returns:
        The name to load a model with.
    """
    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, _mask)
    return NAME


def _mask(*, q_offset: int | torch.Tensor, **options: Any) -> torch.Tensor | None:
    """A forward's mask; over a cache of ours, whose offset is a tensor, made on the device."""
    if isinstance(q_offset, torch.Tensor):
        return _placed_mask(
            options["mask_function"], q_offset, options["q_length"], options["kv_length"]
        )
    return sdpa_mask(q_offset=q_offset, **options)


def _placed_mask(
    rule: Callable[..., torch.Tensor], first: torch.Tensor, rows: int, keys: int
) -> torch.Tensor:
    """Who sees whom, by the model's own rule (causal, sliding, chunked).

    Args:
        rule: of lane, head, query position and key position, all broadcast together.
        first: int64 [lanes, 1], position of each lane's first row.

    Returns:
        bool [lanes, 1, rows, keys].
    """
    device = first.device
    queries = first[:, None, :, None] + torch.arange(rows, device=device)[:, None]
    lanes = torch.arange(len(first), device=device)[:, None, None, None]
    seen = rule(lanes, torch.zeros_like(lanes), queries, torch.arange(keys, device=device))
    return seen.expand(len(first), 1, rows, keys)


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one layer.

    Args:
        query: [lanes, heads, n, size].
        key: [lanes, key heads, m, size].
        attention_mask: [lanes, 1, n, m], or none if every query sees every key or n = m.

    Returns:
        [lanes, n, heads, size].
    """
    lanes, heads, n, size = query.shape
    group = heads // key.shape[1]
    if group == 1 or (attention_mask is None and n > 1) or options.get("position_bias") is not None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **options
        )
    out = scaled_dot_product_attention(
        query.reshape(lanes, key.shape[1], group * n, size),
        key,
        value,
        attn_mask=None if attention_mask is None else attention_mask.repeat(1, 1, group, 1),
        scale=scaling,
    )
    return out.reshape(lanes, heads, n, -1).transpose(1, 2).contiguous(), None
