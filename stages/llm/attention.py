"""Attention over a shared key head without copying it for each of its query heads.

With grouped-query attention several query heads read the same keys. Where a mask is needed,
transformers' `sdpa` first repeats keys and values for each query head: a copy of the whole history
in every layer of every prefill. Query heads that share a key head can just as well stand in one
row, one after the other: [batch, heads, n, size] becomes [batch, key heads, group * n, size], and
the mask is repeated instead, which is small. The same products and sums, so the same numbers.
"""

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
    AttentionMaskInterface.register(NAME, sdpa_mask)
    return NAME


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
        query: [1, heads, n, size].
        key: [1, key heads, m, size].
        attention_mask: [1, 1, n, m], or none if every query sees every key or n = m.

    Returns:
        [1, n, heads, size].
    """
    batch, heads, n, size = query.shape
    group = heads // key.shape[1]
    if group == 1 or (attention_mask is None and n > 1) or options.get("position_bias") is not None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **options
        )
    out = scaled_dot_product_attention(
        query.reshape(batch, key.shape[1], group * n, size),
        key,
        value,
        attn_mask=None if attention_mask is None else attention_mask.repeat(1, 1, group, 1),
        scale=scaling,
    )
    return out.reshape(batch, heads, n, -1).transpose(1, 2).contiguous(), None
