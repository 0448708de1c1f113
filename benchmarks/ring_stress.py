"""Two programs pass a known sequence through rings of every size, across the end of 64 bits.

Batches, partial reads and sleeps are random; order and content are checked, and no wake-up may be
left to the safety timer. Half of the ids of each ring pass before its counters wrap.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.command import FAILED, INTERRUPTED, positive
from benchmarks.ring_pair import RingPair
from benchmarks.ring_peer import READER, WRITER

# Share of the ids by capacity: a ring of one slot takes two sleeps for each id.
SHARES = {1: 0.005, 2: 0.005, 8: 0.04, 64: 0.15, 4096: 0.8}


@dataclass(frozen=True)
class Outcome:
    """One ring.

    Attributes:
        tokens: ids that were written, read and found right.
        errors: of either end; empty if all is well.
    """

    capacity: int
    tokens: int
    seconds: float
    recoveries: int
    errors: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Whether everything came, in order, and nobody overslept."""
        return not self.errors and not self.recoveries


def stress(capacity: int, tokens: int, seed: int) -> Outcome:
    """Pass so many ids through one ring."""
    began = time.monotonic()
    with RingPair(capacity, (2**64 - tokens // 2) % 2**64) as pair:
        pair.start(READER, tokens, seed)
        pair.start(WRITER, tokens, seed + 1)
        read, written = pair.report(READER), pair.report(WRITER)
        errors = [report.error for report in (read, written) if report.error]
        if not errors and not read.done == written.done == tokens:
            errors.append(f"{written.done} written, {read.done} read")
        seconds = time.monotonic() - began
        return Outcome(capacity, read.done, seconds, pair.recoveries, tuple(errors))


def row(outcome: Outcome) -> str:
    """A line of the table."""
    rate = outcome.tokens / outcome.seconds / 1e6
    verdict = "good" if outcome.is_good else "; ".join(outcome.errors) or "overslept"
    return (
        f"| {outcome.capacity} | {outcome.tokens:,} | {outcome.seconds:.1f} | {rate:.2f} "
        f"| {outcome.recoveries} | {verdict} |\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ring_stress", description=__doc__)
    parser.add_argument("--tokens", type=positive, default=1_000_000, help="in all (1000000)")
    parser.add_argument("--seed", type=int, help="of all that is random (default: a new one)")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    sys.stdout.write(f"{options.tokens:,} tokens, seed {seed}, load {load}\n\n")
    sys.stdout.write("| slots | tokens | s | Mtoken/s | recoveries | verdict |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    good = True
    try:
        for capacity, share in SHARES.items():
            outcome = stress(capacity, max(1, round(options.tokens * share)), seed)
            good &= outcome.is_good
            sys.stdout.write(row(outcome))
            sys.stdout.flush()
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted\n")
    return 0 if good else FAILED


if __name__ == "__main__":
    sys.exit(main())
