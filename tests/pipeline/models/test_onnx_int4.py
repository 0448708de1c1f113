"""Weights of 4 bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.models.onnx_int4 import eight_bits, four_bits

seeds = st.integers(0, 2**32 - 1)


def q4_1(seed, rows=6, blocks=3):
    """Weights as GGUF's Q4_1 has them: float16 steps and offsets, 0 and 15 in each block."""
    dice = np.random.default_rng(seed)
    numbers = dice.integers(0, 16, (rows, blocks, 32)).astype(np.float32)
    numbers[..., 3], numbers[..., 7] = 0, 15
    step = dice.uniform(0.001, 0.05, (rows, blocks, 1)).astype(np.float16).astype(np.float32)
    offset = dice.normal(0, 0.3, (rows, blocks, 1)).astype(np.float16).astype(np.float32)
    return (numbers * step + offset).reshape(rows, -1)


@settings(max_examples=50)
@given(seeds)
def test_weights_of_q4_1_keep_their_values(seed):
    weights = q4_1(seed)
    numbers, step, offset = four_bits(weights)
    again = numbers * step[..., None] + offset[..., None]
    np.testing.assert_allclose(again.reshape(weights.shape), weights, rtol=0, atol=2e-7)


@settings(max_examples=50)
@given(seeds)
def test_other_weights_are_off_by_half_a_step_at_most(seed):
    weights = np.random.default_rng(seed).normal(0, 1, (4, 64)).astype(np.float32)
    numbers, step, offset = four_bits(weights)
    again = numbers * step[..., None] + offset[..., None]
    assert (np.abs(again - weights.reshape(again.shape)) <= step[..., None] * 0.501).all()
    numbers, step = eight_bits(weights)
    again = (numbers.astype(np.float32) - 128) * step[..., None]
    assert (np.abs(again - weights.reshape(again.shape)) <= step[..., None] * 0.501).all()


@pytest.mark.parametrize("value", [0.0, 0.25, -3.0])
def test_a_block_of_equal_weights_keeps_its_value(value):
    weights = np.full((2, 32), value, np.float32)
    numbers, step, offset = four_bits(weights)
    assert (numbers * step[..., None] + offset[..., None] == value).all()
    numbers, step = eight_bits(weights)
    np.testing.assert_allclose((numbers.astype(np.float32) - 128) * step[..., None], value)
