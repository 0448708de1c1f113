"""Attaches to damaged memory: it is refused by name, or it is an arena like any other.

Bytes of a good arena are flipped, overwritten, cut off or replaced. What is accepted is mapped and
looked at whole; nothing may fail in any other way than LayoutMismatch.
"""

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence

from benchmarks.command import positive
from ringbuf import Arena, BellPipe, Layout, LayoutMismatch, RingKind, RingSpec, WordSpec, memory
from ringbuf.arena import HEAD
from ringbuf.inspect import describe, look
from ringbuf.layout import HEADER

LAYOUT = Layout(
    processes=("a", "b"),
    lanes=2,
    rings=(
        RingSpec("ids", RingKind.TOKEN, "a", "b", 8),
        RingSpec("sound", RingKind.AUDIO, "a", "b", 8, 32),
        RingSpec("bytes", RingKind.COMMAND, "a", "b", 64),
    ),
    words=(WordSpec("word", "a", ("b",)),),
    events=4,
    text=64,
)


def good_arena() -> bytes:
    """Every byte of an arena that can be attached to."""
    bells = dict.fromkeys(LAYOUT.processes, BellPipe(-1, -1))
    with Arena.create(LAYOUT, "a", bells, b"text") as arena:
        return os.pread(arena.fd, LAYOUT.size, 0)


def damage(good: bytes, chance: random.Random) -> bytes:
    """One to four hurts, most of them where the header is."""
    data = bytearray(good)
    header = HEADER + len(LAYOUT.json)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(header if chance.random() < 0.9 else len(data))
        match chance.randrange(5):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                noise = chance.randbytes(chance.randint(1, 40))
                data[at : at + len(noise)] = noise
            case 2:  # a digit or a letter of the JSON, so that it still parses
                data[at] = chance.choice(b"0123456789abz")
            case 3:  # a number of the header
                at = chance.randrange(8, HEAD.size, 4)
                data[at : at + 4] = chance.choice((0, 1, 2**31, 2**32 - 1)).to_bytes(4, "little")
            case _:
                data = data[: chance.randrange(len(data) + 1)]
                break
    return bytes(data)


def attach(data: bytes) -> str:
    """What came of it: "refused" or "accepted"."""
    fd = memory.create(len(data))
    os.pwrite(fd, data, 0)
    try:
        arena = look(fd)
    except LayoutMismatch:
        return "refused"
    with arena:
        for lane in range(arena.layout.lanes):
            repr(arena.lane(lane))
        describe(arena, 0)
    return "accepted"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ring_fuzz", description=__doc__)
    parser.add_argument("--rounds", type=positive, default=100_000, help="(100000)")
    parser.add_argument("--seed", type=int, help="of all that is random (default: a new one)")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    chance, good = random.Random(seed), good_arena()
    counts = Counter(attach(damage(good, chance)) for _ in range(options.rounds))
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    sys.stdout.write(f"seed {seed}: {told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
