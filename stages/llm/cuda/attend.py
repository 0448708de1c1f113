"""Attention of a few rows over a long cache, which reads only what is filled.

The keys of a lane are split among programs, each with a running softmax of its own; a second kernel
puts the parts together (flash decoding: Dao et al. 2023). What is masked adds exact zeros, so a
row's numbers depend on its own keys alone, however many rows stand beside it.
"""

import triton
import triton.language as tl


@triton.jit
def attend_kernel(
    q,
    keys,
    values,
    positions,
    slots,
    row,
    part,
    part_max,
    part_sum,
    lane_stride,
    head_stride,
    scale,
    WINDOW,
    N_ROWS: tl.constexpr,
    GROUP: tl.constexpr,
    KV_HEADS: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    SPLIT: tl.constexpr,
    BLOCK: tl.constexpr,
    SPLITS: tl.constexpr,
):
    """One split of one key head of one lane.

    q: [lanes * N_ROWS, KV_HEADS * GROUP, D]; part: float32 [lanes, KV_HEADS, SPLITS, ROWS, D].
    ROWS is N_ROWS * GROUP, at least 16: the query heads that share a key head stand together.
    """
    split, head, lane = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    start = tl.load(positions + lane * N_ROWS)
    end = start + tl.load(row) + 1
    low = split * SPLIT
    if low >= end:
        return
    r = tl.arange(0, ROWS)
    live = r < N_ROWS * GROUP
    n, g = r // GROUP, r % GROUP
    d = tl.arange(0, D)
    heads: tl.constexpr = KV_HEADS * GROUP
    at = (lane * N_ROWS + n) * (heads * D) + (head * GROUP + g) * D
    query = tl.load(q + at[:, None] + d[None, :], mask=live[:, None], other=0)
    position = start + n
    slot = tl.load(slots + lane)
    base = slot * lane_stride + head * head_stride
    top = tl.full([ROWS], -1e30, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, D], tl.float32)
    for begin in range(low, tl.minimum(low + SPLIT, end), BLOCK):
        key_at = begin + tl.arange(0, BLOCK)
        place = base + key_at[:, None] * D + d[None, :]
        key = tl.load(keys + place, mask=(key_at < end)[:, None], other=0)
        score = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
        seen = (key_at[None, :] <= position[:, None]) & (
            key_at[None, :] > position[:, None] - WINDOW
        )
        score = tl.where(seen, score, -1e30)
        higher = tl.maximum(top, tl.max(score, 1))
        weight = tl.where(seen, tl.exp2(score - higher[:, None]), 0.0)
        kept = tl.exp2(top - higher)
        total = total * kept + tl.sum(weight, 1)
        value = tl.load(values + place, mask=(key_at < end)[:, None], other=0)
        out = out * kept[:, None] + tl.dot(weight.to(value.dtype), value, input_precision="ieee")
        top = higher
    cell = ((lane * KV_HEADS + head) * SPLITS + split) * ROWS + r
    tl.store(part_max + cell, top)
    tl.store(part_sum + cell, total)
    tl.store(part + cell[:, None] * D + d[None, :], out)


@triton.jit
def merge_kernel(
    part,
    part_max,
    part_sum,
    positions,
    row,
    out,
    N_ROWS: tl.constexpr,
    GROUP: tl.constexpr,
    KV_HEADS: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    SPLIT: tl.constexpr,
    SPLITS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """out [lanes * N_ROWS, heads, D]: the parts of one row and head, weighted by their sums."""
    m, h = tl.program_id(0), tl.program_id(1)
    lane, n = m // N_ROWS, m % N_ROWS
    head, g = h // GROUP, h % GROUP
    used = (tl.load(positions + lane * N_ROWS) + tl.load(row)) // SPLIT + 1
    s = tl.arange(0, WIDTH)
    d = tl.arange(0, D)
    cell = ((lane * KV_HEADS + head) * SPLITS + s) * ROWS + n * GROUP + g
    top = tl.load(part_max + cell, mask=s < used, other=-1e30)
    total = tl.load(part_sum + cell, mask=s < used, other=0)
    weight = tl.exp2(top - tl.max(top, 0))
    parts = tl.load(part + cell[:, None] * D + d[None, :], mask=(s < used)[:, None], other=0)
    value = tl.sum(parts * weight[:, None], 0) / tl.sum(total * weight, 0)
    tl.store(out + (m * KV_HEADS * GROUP + h) * D + d, value.to(out.dtype.element_ty))
