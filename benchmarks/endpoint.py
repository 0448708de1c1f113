"""Many people at one endpoint: what the framework adds, what it holds, and what hurts nobody.

  load      40 people at 20 ms frames and 120 at 100 ms, a fifth of them speaking at once, on
            scripted stages with Silero's voice activity, and again with a scripted `turn`
  most      more and more people, until one of the bars is missed, or 240 have held
  real      real models, one to four people; others knock meanwhile
  crowd     real models, more people than the machine can carry
  sessions  2,000 short conversations, a tenth of them torn off by RST in mid-turn
  fuzz      100,000 random messages to both protocols
  kills     kill -9 of each stage, and of the program that serves

Server, clients and a bare echo server are programs of their own, on this machine, over loopback.
"""

import argparse
import signal
import sys
from collections.abc import Sequence

from benchmarks import (
    endpoint_crowd,
    endpoint_fuzz,
    endpoint_kills,
    endpoint_load,
    endpoint_real,
    endpoint_sessions,
    metrics,
)
from benchmarks.command import Progress, make_parser, run
from benchmarks.endpoint_load import Case, figures, largest
from benchmarks.result import Figure, Result, load_now, make_result

TERMINATED = 143
PARTS = ("load", "most", "real", "crowd", "sessions", "fuzz", "kills")
QUICK_PARTS = ("load", "sessions", "fuzz", "kills")
MOST = 240  # connections that are tried; the figure says so, and then means at least


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.ENDPOINT, __doc__, "--quick --json endpoint.json")
    parser.add_argument(
        "--only",
        action="append",
        choices=PARTS,
        default=[],
        help="one part; repeatable (default: all, with --quick all but most, real and crowd)",
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that its servers end, too
    run(metrics.ENDPOINT, parser, arguments, measure)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The parts that were asked for.

    Raises:
        VoxringError: a server did not start, or its clients failed.
    """
    before = load_now()
    quick: bool = options.quick
    parts = options.only or (QUICK_PARTS if quick else PARTS)
    found: dict[str, Figure] = {}
    answers = 0
    if "load" in parts:
        loads, answers = _loads(quick, progress)
        found |= loads
    if "most" in parts:
        seconds = 15 if quick else 40
        held, tried = largest(Case(40, 100, "silero", seconds), MOST, progress)
        found |= {**tried, **found, "connections": held}
    if "real" in parts:
        found |= endpoint_real.measure(2 if quick else 4, 2 if quick else 8, progress)
    if "crowd" in parts:
        found |= endpoint_crowd.measure(progress)
    if "sessions" in parts:
        found |= endpoint_sessions.measure(200 if quick else 2000, progress)
    if "fuzz" in parts:
        found |= endpoint_fuzz.measure(2000 if quick else 100_000, progress)
    if "kills" in parts:
        found |= endpoint_kills.measure(progress)
    return make_result(
        metrics.ENDPOINT.name,
        before=before,
        n=answers,
        metrics=found,
        settings={"quick": quick, "parts": list(parts)},
        packages=("websockets", "onnxruntime"),
    )


def _loads(quick: bool, progress: Progress) -> tuple[dict[str, Figure], int]:
    """The stated loads; the first one's figures are the benchmark's own."""
    seconds = 22.0 if quick else 65.0  # a person asks every 10.8 s
    turns = ("silero",) if quick else ("silero", "scripted")
    cases = [
        Case(count, ms, turn, seconds) for turn in turns for count, ms in ((40, 20), (120, 100))
    ]
    found: dict[str, Figure] = {}
    answers = 0
    for index, case in enumerate(cases):
        seen = endpoint_load.measure(case, progress)
        found |= figures(case, seen, is_first=index == 0)
        answers = answers or len(seen.found.latency_ms)
    return found, answers


if __name__ == "__main__":
    sys.exit(main())
