"""Sleeping and being woken, between threads of one process and between processes."""

import os
import subprocess
import sys
import threading
import time

import pytest

from ringbuf import Kind
from tests.ringbuf.pair import Pair

DEADLINE_S = 30


def test_work_that_came_before_sleep_is_seen(pair: Pair) -> None:
    pair.a.bell_of("b").ring(1)
    assert not pair.b.bell.arm()
    assert pair.b.bell.take() == [1]
    assert pair.b.bell.arm()
    pair.b.bell.disarm()


def test_a_ring_while_awake_writes_nothing(pair: Pair) -> None:
    pair.a.bell_of("b").ring(0)
    with pytest.raises(BlockingIOError):
        os.read(pair.bells["b"].read_fd, 1)


def test_a_sleeper_is_woken_by_exactly_one_byte(pair: Pair) -> None:
    assert pair.b.bell.arm()
    for lane in (0, 1, 0):
        pair.a.bell_of("b").ring(lane)
    assert len(os.read(pair.bells["b"].read_fd, 64)) == 1
    assert pair.b.bell.take() == [0, 1]


def test_park_ends_by_itself(pair: Pair) -> None:
    before = time.monotonic()
    pair.b.bell.park(0.05)
    assert time.monotonic() - before >= 0.05


def test_only_the_owner_parks(pair: Pair) -> None:
    with pytest.raises(ValueError, match="owner"):
        pair.a.bell_of("b").park(0.0)


@pytest.mark.parametrize("lane", [-1, 2])
def test_a_lane_that_is_not_there(pair: Pair, lane: int) -> None:
    with pytest.raises(IndexError):
        pair.a.bell_of("b").ring(lane)


def test_ids_pass_between_threads_in_order_with_no_lost_wake_up(pair: Pair) -> None:
    count = 20_000
    ring, out, bell = pair.writer.token("ids"), pair.reader.token("ids"), pair.b.bell
    seen: list[int] = []

    def consume() -> None:
        end = time.monotonic() + DEADLINE_S
        while len(seen) < count and time.monotonic() < end:
            bell.take()
            with out.read() as batch:
                for run in batch.runs():
                    seen.extend(run.ids.tolist())
            bell.park(1.0)

    reader = threading.Thread(target=consume)
    reader.start()
    for id in range(count):
        while not ring.put(id, position=id, turn=1, answer=1):
            pair.a.bell.park(1.0)
            pair.a.bell.take()
    reader.join(DEADLINE_S)
    assert seen == list(range(count))
    assert pair.b.bell.recoveries == pair.a.bell.recoveries == 0


ECHO = """
import sys
from ringbuf import Arena, BellPipe
fd, a_write, b_read, b_write = map(int, sys.argv[1:])
bells = {"a": BellPipe(-1, a_write), "b": BellPipe(b_read, b_write)}
arena = Arena.attach(fd, "b", bells)
ring = arena.lane(1).token("ids")
total = 0
while True:
    arena.bell.take()
    with ring.read() as batch:
        for run in batch.runs():
            if run.kind == 1:
                print(total)
                sys.exit(0)
            total += int(run.ids.sum())
    arena.bell.park(1.0)
"""


def test_ids_pass_between_processes(pair: Pair) -> None:
    a, b = pair.bells["a"], pair.bells["b"]
    fds = [pair.a.fd, a.write_fd, b.read_fd, b.write_fd]
    child = subprocess.Popen(
        [sys.executable, "-c", ECHO, *map(str, fds)],
        pass_fds=fds,
        stdout=subprocess.PIPE,
        text=True,
    )
    ring, count = pair.writer.token("ids"), 5_000
    for id in [*range(count), -1]:
        kind = Kind.END if id < 0 else Kind.ID
        while not ring.put(id, position=max(id, 0), turn=1, answer=1, kind=kind):
            pair.a.bell.park(1.0)
            pair.a.bell.take()
    output, _ = child.communicate(timeout=DEADLINE_S)
    assert int(output) == sum(range(count))
