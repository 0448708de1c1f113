"""Ids into a step and out of it, through memory that host and device both see.

A captured graph has fixed addresses, so what changes from step to step lies in a ring of blocks:
the host fills the next block and launches the graph, which counts its own turns and reads the block
of this one. Several steps can thus be under way without a word between host and device.
"""

import triton
import triton.language as tl

RING = 64  # steps under way at most
WORDS = 512  # int32 of a block
HEAD = 4  # words of a lane before its ids: slot, start, count, the bits of a number for chance
LANES = 64  # ids that come out of a step at most


@triton.jit
def fetch_kernel(
    ring,
    counter,
    now,
    chosen,
    history,
    ids,
    positions,
    slots,
    row,
    drawn,
    capacity,
    RING: tl.constexpr,
    WORDS: tl.constexpr,
    HEAD: tl.constexpr,
    N_ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Take one lane's part of this turn's block; an id of -1 is the one that was chosen last.

    ring: int32 [RING, WORDS], of the host or a copy of it. Everything else lies on the device;
    history: int32 [slots, capacity], every id of every lane.
    """
    lane = tl.program_id(0)
    turn = tl.load(counter)
    if lane == 0:
        tl.store(now, turn)
    block = ring + (turn % RING) * WORDS + lane * (HEAD + N_ROWS)
    slot = tl.load(block, volatile=True)
    start = tl.load(block + 1, volatile=True)
    count = tl.load(block + 2, volatile=True)
    chance = tl.load(block + 3, volatile=True)
    n = tl.arange(0, WIDTH)
    id = tl.load(block + HEAD + n, mask=n < count, other=0, volatile=True)
    id = tl.where(id < 0, tl.load(chosen + slot), id)
    tl.store(ids + lane * N_ROWS + n, id, mask=n < N_ROWS)
    tl.store(positions + lane * N_ROWS + n, (start + n).to(tl.int64), mask=n < N_ROWS)
    tl.store(history + slot * capacity + start + n, id, mask=n < count)
    tl.store(slots + lane, slot.to(tl.int64))
    tl.store(drawn + lane, chance.to(tl.float32, bitcast=True))
    if lane == 0:
        tl.store(row, (count - 1).to(tl.int64))


@triton.jit
def publish_kernel(
    best,
    best_at,
    now,
    counter,
    chosen,
    slots,
    out,
    PARTS,
    RING: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The best of one lane's parts: for its next step, and for the host; -1 if it is no number.

    best, best_at: [lanes, PARTS]; out: int32 [RING, LANES], of the host.
    """
    lane = tl.program_id(0)
    turn = tl.load(now)
    n = tl.arange(0, WIDTH)
    value = tl.load(best + lane * PARTS + n, mask=n < PARTS, other=float("-inf"))
    top, part = tl.max(value, 0, return_indices=True)
    id = tl.load(best_at + lane * PARTS + part)
    sound = (top < float("inf")) & (top > float("-inf"))
    tl.store(chosen + tl.load(slots + lane), tl.where(sound, id, 0).to(tl.int32))
    tl.store(out + (turn % RING) * LANES + lane, tl.where(sound, id, -1).to(tl.int32))
    if lane == 0:
        tl.store(counter, (turn + 1) % RING)  # a count without an end would wrap below zero
