"""Matrix times few rows: what a language model does almost all of its time outside of prefill.

With 1 to 64 rows every weight is read once and used a few times, so the time is that of reading
weights. The kernels differ in what they do before and after: anything that would take a kernel of
its own between two products (norm, rotation, cache write, activation, residual, argmax) happens
while a product's numbers are in registers. Weights stay where transformers put them: [out, in].

One row is multiplied and summed by plain arithmetic, more rows by the tensor cores, with the weight
as the left operand so that its rows fill the large side of an instruction.
"""

import triton
import triton.language as tl


@triton.jit
def _wide(weight):
    """Weights in float32; those of eight bits by adding to the bits of 1.5 * 2**23.

    The same numbers as a conversion gives, for which a multiprocessor has four to eight times
    fewer units than for an addition.
    """
    if weight.dtype == tl.int8:
        return (weight.to(tl.int32) + 0x4B400000).to(tl.float32, bitcast=True) - 12582912.0
    return weight.to(tl.float32)


@triton.jit
def _block(at, live, inside, EVEN: tl.constexpr):
    """What lies at [.., ..]; zeros in rows that are none, and past the end of a row."""
    return tl.load(at, mask=live if EVEN else live & inside, other=0)


@triton.jit
def _line(at, inside, EVEN: tl.constexpr):
    """What lies at [..]; zeros past the end of a row, which EVEN ones do not have."""
    return tl.load(at) if EVEN else tl.load(at, mask=inside, other=0)


@triton.jit
def _product(
    x,
    w,
    gain,
    starts,
    live,
    rows,
    row_live,
    K,
    NORM: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Weights that begin at w[starts] times x[rows], before the norm's factor; x's sum of squares.

    Returns:
        float32 [BLOCK_N, BLOCK_M], float32 [BLOCK_M].
    """
    k = tl.arange(0, BLOCK_K)
    if VECTOR:
        row = tl.sum(tl.where(tl.arange(0, BLOCK_M) == 0, rows, 0))
        total = tl.zeros([BLOCK_N, BLOCK_K], tl.float32)
        squares = tl.zeros([BLOCK_K], tl.float32)
    else:
        total = tl.zeros([BLOCK_N, BLOCK_M], tl.float32)
        squares = tl.zeros([BLOCK_M], tl.float32)
    for begin in tl.range(0, K, BLOCK_K, num_stages=STAGES):
        at = begin + k
        inside = at < K
        weight = _block(w + starts[:, None] + at[None, :], live[:, None], inside[None, :], EVEN)
        if VECTOR:
            value = _line(x + row * K + at, inside, EVEN).to(tl.float32)
            if NORM:
                squares += value * value
                value = value * _line(gain + at, inside, EVEN).to(tl.float32)
            total += _wide(weight) * value[None, :]
        else:
            rows_at = x + rows[None, :] * K + at[:, None]
            value = _block(rows_at, row_live[None, :], inside[:, None], EVEN)
            if NORM:
                squares += tl.sum(value * value, 0)
                value = value * _line(gain + at, inside, EVEN).to(tl.float32)[:, None]
            total = tl.dot(
                _wide(weight).to(gain.dtype.element_ty),
                value.to(gain.dtype.element_ty),
                total,
                input_precision="ieee",
            )
    if VECTOR:
        first = tl.arange(0, BLOCK_M) == 0
        total = tl.where(first[None, :], tl.sum(total, 1)[:, None], 0.0)
        squares = tl.where(first, tl.sum(squares), 0.0)
    return total, squares


@triton.jit
def _halves(total, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr):
    """The upper and the lower half of [BLOCK_N, BLOCK_M]."""
    both = tl.reshape(total, [2, BLOCK_N // 2, BLOCK_M])
    return tl.split(tl.permute(both, (1, 2, 0)))


@triton.jit
def residual_kernel(
    x,
    w,
    scale,
    gain,
    bias,
    residual,
    M,
    N,
    K,
    HAS_BIAS: tl.constexpr,
    HAS_SCALE: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
):
    """residual [M, N] += x [M, K] @ w[N, K].T; gain only tells the type to multiply in."""
    out_row = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = tl.arange(0, BLOCK_M)
    live, row_live = out_row < N, rows < M
    total, _ = _product(
        x,
        w,
        gain,
        out_row.to(tl.int64) * K,
        live,
        rows,
        row_live,
        K,
        False,
        VECTOR,
        EVEN,
        BLOCK_N,
        BLOCK_M,
        BLOCK_K,
        STAGES,
    )
    if HAS_SCALE:
        total = total * tl.load(scale + out_row, mask=live, other=0)[:, None]
    if HAS_BIAS:
        total += tl.load(bias + out_row, mask=live, other=0).to(tl.float32)[:, None]
    at = residual + rows[None, :] * N + out_row[:, None]
    mask = live[:, None] & row_live[None, :]
    tl.store(at, tl.load(at, mask=mask, other=0) + total, mask=mask)


@triton.jit
def gate_up_kernel(
    x,
    gate,
    apart,
    gate_scale,
    up_scale,
    gain,
    out,
    M,
    N,
    K,
    eps,
    NORM: tl.constexpr,
    HAS_SCALE: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
):
    """out [M, N] = silu(norm(x) @ gate.T) * (norm(x) @ up.T).

    `apart` is how many elements up begins behind gate. A program has half as many rows of each.
    """
    i = tl.arange(0, BLOCK_N)
    half: tl.constexpr = BLOCK_N // 2
    out_row = tl.program_id(0) * half + i % half
    rows = tl.arange(0, BLOCK_M)
    row_live = rows < M
    starts = out_row.to(tl.int64) * K + tl.where(i < half, 0, apart)
    total, squares = _product(
        x,
        gate,
        gain,
        starts,
        out_row < N,
        rows,
        row_live,
        K,
        NORM,
        VECTOR,
        EVEN,
        BLOCK_N,
        BLOCK_M,
        BLOCK_K,
        STAGES,
    )
    first, second = _halves(total, BLOCK_N, BLOCK_M)
    own = tl.program_id(0) * half + tl.arange(0, half)
    live = own < N
    if HAS_SCALE:
        first = first * tl.load(gate_scale + own, mask=live, other=0)[:, None]
        second = second * tl.load(up_scale + own, mask=live, other=0)[:, None]
    if NORM:
        factor = tl.rsqrt(squares / K + eps)[None, :]
        first, second = first * factor, second * factor
    value = first * tl.sigmoid(first) * second
    tl.store(
        out + rows[None, :] * N + own[:, None],
        value.to(out.dtype.element_ty),
        mask=live[:, None] & row_live[None, :],
    )


@triton.jit
def qkv_kernel(
    x,
    wq,
    wk,
    wv,
    sq,
    sk,
    sv,
    bq,
    bk,
    bv,
    gain,
    cos,
    sin,
    positions,
    slots,
    q_out,
    keys,
    values,
    M,
    K,
    eps,
    lane_stride,
    head_stride,
    N_ROWS: tl.constexpr,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    HALF: tl.constexpr,
    NORM: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    HAS_SCALE: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Queries, keys and values of norm(x): rotated, and put where attention reads them.

    A program has BLOCK_N / 2 pairs of one head: a rotation turns dimension i with i + HALF.

    q_out: [M, HEADS, 2 * HALF]; keys, values: [slots, KV_HEADS, capacity, 2 * HALF].
    """
    D: tl.constexpr = 2 * HALF
    PAIRS: tl.constexpr = BLOCK_N // 2
    PARTS: tl.constexpr = HALF // PAIRS
    head = tl.program_id(0) // PARTS
    first_pair = tl.program_id(0) % PARTS * PAIRS
    rows = tl.arange(0, BLOCK_M)
    row_live = rows < M
    if head < HEADS:
        w, scale, bias, own = wq, sq, bq, head
    elif head < HEADS + KV_HEADS:
        w, scale, bias, own = wk, sk, bk, head - HEADS
    else:
        w, scale, bias, own = wv, sv, bv, head - HEADS - KV_HEADS
    i = tl.arange(0, BLOCK_N)
    out_row = own * D + first_pair + i % PAIRS + i // PAIRS * HALF
    total, squares = _product(
        x,
        w,
        gain,
        out_row.to(tl.int64) * K,
        i >= 0,
        rows,
        row_live,
        K,
        NORM,
        VECTOR,
        EVEN,
        BLOCK_N,
        BLOCK_M,
        BLOCK_K,
        STAGES,
    )
    first, second = _halves(total, BLOCK_N, BLOCK_M)
    pair = first_pair + tl.arange(0, PAIRS)
    low = own * D + pair
    if HAS_SCALE:
        first = first * tl.load(scale + low)[:, None]
        second = second * tl.load(scale + low + HALF)[:, None]
    if NORM:
        factor = tl.rsqrt(squares / K + eps)[None, :]
        first, second = first * factor, second * factor
    if HAS_BIAS:
        first += tl.load(bias + low).to(tl.float32)[:, None]
        second += tl.load(bias + low + HALF).to(tl.float32)[:, None]
    position = tl.load(positions + rows, mask=row_live, other=0)
    mask = row_live[None, :] & (pair >= 0)[:, None]
    if head < HEADS + KV_HEADS:
        at = position[None, :] * HALF + pair[:, None]
        c = tl.load(cos + at, mask=mask, other=0)
        s = tl.load(sin + at, mask=mask, other=0)
        turned = first * c - second * s
        second = second * c + first * s
        first = turned
    if head < HEADS:
        to = q_out + rows[None, :] * (HEADS * D) + low[:, None]
        tl.store(to, first.to(q_out.dtype.element_ty), mask=mask)
        tl.store(to + HALF, second.to(q_out.dtype.element_ty), mask=mask)
    else:
        slot = tl.load(slots + rows // N_ROWS, mask=row_live, other=0)
        place = slot * lane_stride + own * head_stride + position * D
        if head < HEADS + KV_HEADS:
            to = keys + place[None, :] + pair[:, None]
        else:
            to = values + place[None, :] + pair[:, None]
        tl.store(to, first.to(keys.dtype.element_ty), mask=mask)
        tl.store(to + HALF, second.to(keys.dtype.element_ty), mask=mask)


@triton.jit
def head_kernel(
    x,
    w,
    gain,
    row,
    logits,
    best,
    best_at,
    LIVE,
    N,
    K,
    eps,
    N_ROWS: tl.constexpr,
    NORM: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Scores of one row of each of LIVE lanes, and this program's best of them.

    logits: float32 [LIVE, N]; best, best_at: [LIVE, programs].
    """
    out_row = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    lanes = tl.arange(0, BLOCK_M)
    live, lane_live = out_row < N, lanes < LIVE
    rows = lanes * N_ROWS + tl.load(row).to(tl.int32)
    total, squares = _product(
        x,
        w,
        gain,
        out_row.to(tl.int64) * K,
        live,
        rows,
        lane_live,
        K,
        NORM,
        VECTOR,
        EVEN,
        BLOCK_N,
        BLOCK_M,
        BLOCK_K,
        STAGES,
    )
    if NORM:
        total = total * tl.rsqrt(squares / K + eps)[None, :]
    wanted = live[:, None] & lane_live[None, :]
    tl.store(logits + lanes[None, :] * N + out_row[:, None], total, mask=wanted)
    # What is no number counts as the largest, so that it is noticed.
    total = tl.where(total == total, total, float("inf"))
    total = tl.where(live[:, None], total, float("-inf"))
    top, at = tl.max(total, 0, return_indices=True)
    place = lanes * tl.num_programs(0) + tl.program_id(0)
    tl.store(best + place, top, mask=lane_live)
    tl.store(best_at + place, tl.program_id(0) * BLOCK_N + at, mask=lane_live)


@triton.jit
def embed_kernel(ids, table, residual, K, BLOCK: tl.constexpr):
    """residual [M, K] = table[ids], float32."""
    row = tl.program_id(0)
    id = tl.load(ids + row)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(table + id.to(tl.int64) * K + at, mask=at < K, other=0)
    tl.store(residual + row * K + at, value.to(tl.float32), mask=at < K)


@triton.jit
def norm_kernel(x, gain, out, K, eps, BLOCK: tl.constexpr):
    """out [M, K] = rms norm of x, for many rows, of which each product would do it again."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * K + at, mask=at < K, other=0)
    factor = tl.rsqrt(tl.sum(value * value) / K + eps)
    scaled = value * factor * tl.load(gain + at, mask=at < K, other=0).to(tl.float32)
    tl.store(out + row * K + at, scaled.to(out.dtype.element_ty), mask=at < K)
