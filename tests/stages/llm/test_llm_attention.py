"""Softmax is in float32, whatever the dtype of keys and queries."""

import pytest
import torch

from stages.llm.attention import _attend

LANES, HEADS, KEY_HEADS, SIZE, KEYS = 1, 4, 2, 16, 300


def inputs(rows, dtype):
    torch.manual_seed(3)
    shapes = ((HEADS, rows), (KEY_HEADS, KEYS), (KEY_HEADS, KEYS))
    query, key, value = (torch.randn(LANES, *shape, SIZE).to(dtype) for shape in shapes)
    seen = torch.arange(KEYS) <= torch.arange(KEYS - rows, KEYS)[:, None]
    return 3 * query, 3 * key, value, seen[None, None]  # scores far apart, as trained models have


def plain(query, key, value, seen, softmax_in):
    """Attention with products in float64 and a softmax in some other type."""
    key, value = (part.repeat_interleave(HEADS // KEY_HEADS, 1).double() for part in (key, value))
    scores = (query.double() @ key.mT) * SIZE**-0.5
    chances = scores.to(softmax_in).masked_fill(~seen, -torch.inf).softmax(-1)
    return (chances.double() @ value).transpose(1, 2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows", [1, 16])
def test_softmax_is_in_float32(rows, dtype):
    query, key, value, seen = inputs(rows, dtype)
    module = torch.nn.Module()
    module.is_causal = True
    ours, _ = _attend(module, query, key, value, seen, scaling=SIZE**-0.5)
    exact = plain(query, key, value, seen, torch.float64)
    error = (ours - exact).abs().max()
    rounding = (exact.to(dtype) - exact).abs().max()
    assert error <= 4 * rounding  # of what goes in and out of the products
    assert (plain(query, key, value, seen, dtype) - exact).abs().max() > 4 * rounding
