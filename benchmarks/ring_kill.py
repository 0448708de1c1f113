"""kill -9 of a writer or a reader at random instants: what the other end sees, and how soon.

In each round two programs pass a known sequence through a ring; one is killed and reaped, and this
program, their supervisor, says so (`Arena.mark_dead`). The survivor must have seen a contiguous
prefix and raise PeerDied with the right name.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.command import FAILED, INTERRUPTED, positive
from benchmarks.ring_pair import Report, RingPair
from benchmarks.ring_peer import READER, WRITER, WrongError, check
from benchmarks.sample import percentile

CAPACITIES = (1, 2, 8, 64, 4096)
ENDLESS = 2**31
FLOW_S = 30.0  # for the first ids to come through
LIFE_S = 0.03  # of a victim after that, at most
LIMIT_MS = 100.0  # from the word to the error


@dataclass(frozen=True)
class Death:
    """One round.

    Attributes:
        passed: ids that were published before the end.
        heard_ms: from the supervisor's word to the survivor's error.
        trouble: what was wrong; empty if nothing was.
    """

    victim: str
    capacity: int
    passed: int
    heard_ms: float
    trouble: str


def kill(victim: str, capacity: int, chance: random.Random) -> Death:
    """One round."""
    survivor = READER if victim == WRITER else WRITER
    with RingPair(capacity, chance.choice((0, 2**64 - 1000))) as pair:
        for process in (READER, WRITER):
            pair.start(process, ENDLESS, chance.randrange(2**31))
        trouble = wait_for_flow(pair)
        time.sleep(chance.uniform(0, LIFE_S))
        pair.kill(victim)
        told = time.monotonic_ns()
        pair.arena.mark_dead(victim)
        report = pair.report(survivor)
        trouble = trouble or find_trouble(pair, victim, report)
        return Death(victim, capacity, pair.written, (report.at - told) / 1e6, trouble)


def wait_for_flow(pair: RingPair) -> str:
    """Wait until ids pass; "" when they do."""
    end = time.monotonic() + FLOW_S
    while pair.written < 10 * pair.ring.spec.capacity:
        if time.monotonic() > end:
            return f"only {pair.written} ids came in {FLOW_S:.0f} s"
        time.sleep(0.001)
    return ""


def find_trouble(pair: RingPair, victim: str, report: Report) -> str:
    """What is wrong with what the survivor saw; "" if nothing is."""
    if not report.error.startswith(f"PeerDied: {victim}, at the other end of ids"):
        return f"{report.error or 'no error'} after {report.done}"
    if report.done != pair.written:
        return f"{pair.written} were published, the survivor knows of {report.done}"
    return unread_trouble(pair)


def unread_trouble(pair: RingPair) -> str:
    """Whether what a dead reader has left is the rest of the sequence, read as a successor may."""
    at = pair.written - len(pair.ring)
    try:
        with pair.ring.read() as batch:
            for run in batch.runs():
                at, _ = check(run, at)
    except WrongError as error:
        return str(error)
    return "" if at == pair.written else f"{at} of {pair.written} are there"


def deaths(rounds: int, seed: int) -> Iterator[Death]:
    """Rounds with writers and readers as victims in turn."""
    chance = random.Random(seed)
    for number in range(rounds):
        yield kill((WRITER, READER)[number % 2], chance.choice(CAPACITIES), chance)


def summary(seen: Sequence[Death]) -> str:
    """The table."""
    lines = ["| victim | kills | prefix and name right | word to error p50 ms | max ms |"]
    lines.append("|---|---|---|---|---|")
    for victim in (WRITER, READER):
        its = [death for death in seen if death.victim == victim]
        times = [death.heard_ms for death in its]
        good = sum(not death.trouble for death in its)
        half, most = percentile(times, 50) or 0.0, max(times, default=0.0)
        lines.append(f"| {victim} | {len(its)} | {good} | {half:.2f} | {most:.2f} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ring_kill", description=__doc__)
    parser.add_argument("--rounds", type=positive, default=200, help="kills in all (200)")
    parser.add_argument("--seed", type=int, help="of all that is random (default: a new one)")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    sys.stdout.write(f"{options.rounds} kills, seed {seed}, load {load}\n\n")
    seen: list[Death] = []
    try:
        for death in deaths(options.rounds, seed):
            seen.append(death)
            if death.trouble:
                sys.stdout.write(f"{death}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted\n")
    sys.stdout.write(summary(seen))
    late = [death for death in seen if death.heard_ms > LIMIT_MS]
    return FAILED if late or any(death.trouble for death in seen) else 0


if __name__ == "__main__":
    sys.exit(main())
