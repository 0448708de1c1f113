"""One end of a ring as a program of its own: writes or reads a known sequence, at a random pace.

`python -m benchmarks.ring_peer write --count 9 --seed 1 --fds arena=3,…`; ring_pair.py starts it.
The id at index i is a number that follows from i, and its position is i; so the reader
knows what must come, and anything lost, doubled, torn or out of order is noticed.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ringbuf import Arena, Kind, PeerDied, TokenRing, TokenRun, die_with_parent, lifeline
from stages.run import parse_fds

WRITER, READER, OWNER, RING = "writer", "reader", "owner", "ids"
PATIENCE_S = 30.0  # a peer that lives makes progress in less
LONGEST_BATCH = 1024
REST_S = 0.0005
RESTS = 0.03  # how often a side sleeps for nothing, at most REST_S
TRIES = 0.2  # how often a writer tries and sleeps by itself, as a stage does
PARTS = 0.1  # how often a reader gives back only a part of what it has read
MULTIPLIER = 2654435761  # Knuth's: neighbours look unlike each other


class WrongError(Exception):
    """Something else came than was written."""


def ids_at(first: int, count: int) -> NDArray[np.int32]:
    """The ids from an index on, int32 [count]."""
    index = np.arange(first, first + count, dtype=np.uint64)
    return (index * np.uint64(MULTIPLIER) % np.uint64(2**31)).astype(np.int32)


class Chance:
    """Random choices, drawn in bulk: a call of the generator would take longer than a put."""

    def __init__(self, seed: int) -> None:
        self._draws = self._endless(np.random.default_rng(seed))

    def one_in(self, share: float) -> bool:
        """True in `share` of all cases."""
        return next(self._draws) < share

    def up_to(self, most: int) -> int:
        """From 1 to `most`."""
        return 1 + int(next(self._draws) * most)

    def rest_s(self) -> float:
        """How long to sleep, s."""
        return next(self._draws) * REST_S

    @staticmethod
    def _endless(generator: np.random.Generator) -> Iterator[float]:
        while True:
            yield from generator.random(4096).tolist()


def write(arena: Arena, count: int, chance: Chance) -> Iterator[int]:
    """Write `count` ids, then the end; yields how many are written.

    Raises:
        RingFull, PeerDied: see ringbuf.errors.
    """
    ring = arena.lane(0).token(RING)
    longest = min(4 * ring.spec.capacity, LONGEST_BATCH)
    done = batch = 0
    while done < count:
        batch += 1
        ids = ids_at(done, min(chance.up_to(longest), count - done))
        if chance.one_in(TRIES):
            done += ring.put_run(ids, position=done, turn=1, answer=batch)
            arena.bell.park(REST_S)
            arena.bell.take()
        else:
            try:
                done += ring.put_run(ids, position=done, turn=1, answer=batch, timeout=PATIENCE_S)
            except PeerDied as error:
                yield done + len(ids) - error.not_written
                raise
        if chance.one_in(RESTS):
            arena.bell.park(chance.rest_s())
        yield done
    ring.put(0, position=count, turn=1, answer=batch, kind=Kind.END, timeout=PATIENCE_S)


def read(arena: Arena, chance: Chance) -> Iterator[int]:
    """Read and check until the end; yields how many were read.

    Raises:
        WrongError: something else came than was written.
        PeerDied: see ringbuf.errors.
    """
    ring = arena.lane(0).token(RING)
    done, ended = 0, False
    while not ended:
        if not ring.wait(PATIENCE_S):
            raise WrongError(f"nothing came for {PATIENCE_S:.0f} s after {done}")
        done, ended = read_batch(ring, done, chance)
        if chance.one_in(RESTS):
            arena.bell.park(chance.rest_s())
        yield done


def read_batch(ring: TokenRing, done: int, chance: Chance) -> tuple[int, bool]:
    """Check what there is, or a part of it; how many by now, and whether that was the end."""
    limit = chance.up_to(2 * ring.spec.capacity) if chance.one_in(0.5) else None
    with ring.read(limit) as batch:
        before, ended = done, False
        for run in batch.runs():
            done, ended = check(run, done)
        if len(batch) > 1 and not ended and chance.one_in(PARTS):
            part = chance.up_to(len(batch) - 1)
            batch.consume(part)  # the rest comes again
            done = before + part
    return done, ended


def check(run: TokenRun, done: int) -> tuple[int, bool]:
    """The index after a run that must begin at index `done`, and whether it is the end."""
    if run.position != done or run.turn != 1:
        raise WrongError(f"position {run.position} came, expected {done}")
    if run.kind is Kind.END:
        return done, True
    if run.kind is not Kind.ID or not np.array_equal(run.ids, ids_at(done, len(run.ids))):
        raise WrongError(f"wrong ids at position {done}: {run}")
    return done + len(run.ids), False


def work(mode: str, arena: Arena, count: int, seed: int) -> dict[str, object]:
    """What this end did, and which error ended it."""
    chance = Chance(seed)
    done, error = 0, ""
    try:
        for at in write(arena, count, chance) if mode == "write" else read(arena, chance):
            done = at
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    return {"done": done, "error": error, "at": time.monotonic_ns()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or read, then report."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("mode", choices=("write", "read"))
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--fds", required=True)
    options = parser.parse_args(arguments)
    fds, bells = parse_fds(options.fds)
    lifeline(fds["lifeline"])
    die_with_parent()
    me = WRITER if options.mode == "write" else READER
    with Arena.attach(fds["arena"], me, bells) as arena, os.fdopen(fds["report"], "w") as report:
        report.write(json.dumps(work(options.mode, arena, options.count, options.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
