"""How often a block of sound is copied on its way through an AudioRing.

Shown by time: with a block so long that only its copying counts, `put` must take as long as one
copy, and reading into an array of one's own as long as one more. A copy in between would double it.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import Progress
from benchmarks.result import Figure
from ringbuf import Arena, AudioRing, BellPipe, Layout, RingKind, RingSpec

RING, PROCESS = "sound", "both"
LONG, SHORT = 2**20, 480  # samples: 2 MiB, and 10 ms at 48 kHz
RATE = 48_000
ROUNDS = 101


def count_copies(progress: Progress) -> dict[str, Figure]:
    """Copies of each side, and the time of a block of 10 ms in µs."""
    progress("copies of a block of sound")
    long, short = measure(LONG), measure(SHORT)
    put, read, copy = (float(np.median(times)) for times in long)
    short_put, short_read, _ = (float(np.median(times)) for times in short)
    return {
        "audio_put_copies": put / copy,
        "audio_read_copies": read / copy,
        "audio_put_us": short_put / 1e3,
        "audio_read_us": short_read / 1e3,
    }


def measure(block: int) -> tuple[list[int], list[int], list[int]]:
    """Times of put, of read, and of one copy between the same places, ns; taken in turn."""
    bells = {PROCESS: BellPipe(-1, -1)}
    ring = RingSpec(RING, RingKind.AUDIO, PROCESS, PROCESS, 2, block)
    layout = Layout((PROCESS,), 1, (ring,), (), text=0)
    samples, mine = np.arange(block).astype(np.int16), np.zeros(block, np.int16)
    with Arena.create(layout, PROCESS, bells) as arena:
        arena.claim(0)
        sound = arena.lane(0).audio(RING)
        puts, reads, copies = [], [], []
        for _ in range(ROUNDS):
            puts.append(timed(lambda: sound.put(samples, first=0, rate=RATE)))
            reads.append(timed(lambda: read_into(sound, mine)))
            copies.append(timed(lambda: np.copyto(mine, samples)))
    return puts, reads, copies


def read_into(sound: AudioRing, mine: NDArray[np.int16]) -> None:
    """Take the next block, as playback does."""
    with sound.read(1) as batch:
        for block in batch:
            mine[: len(block.samples)] = block.samples


def timed(action: Callable[[], object]) -> int:
    """How long it takes, ns."""
    began = time.monotonic_ns()
    action()
    return time.monotonic_ns() - began
