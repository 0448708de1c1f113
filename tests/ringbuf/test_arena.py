"""Memory without a name, checked on attach, given back lane by lane."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringbuf import (
    VERSION,
    Arena,
    BellPipe,
    Layout,
    LayoutMismatch,
    RingKind,
    RingSpec,
    read_layout,
)
from ringbuf.memory import create
from tests.ringbuf.pair import Pair, layout


def test_both_sides_see_the_same_layout_and_text(pair: Pair) -> None:
    assert pair.b.layout == pair.a.layout == layout()
    assert pair.b.text == b"text"


def test_layout_survives_its_own_json() -> None:
    assert Layout.parse(layout().json) == layout()


def test_nothing_overlaps() -> None:
    shape = layout()
    ranges = []
    for lane in range(shape.lanes):
        for ring in shape.rings:
            ranges.append((shape.slots_at(lane, ring), ring.size))
            ranges.append((shape.counters_at(lane, ring), 3 * 128))
        ranges.append((shape.words_at(lane), 128 * len(shape.words)))
    ranges += [(shape.bell_at(p), shape.bell_size) for p in shape.processes]
    ranges += [(shape.event_at(p), shape.event_size) for p in shape.processes]
    ranges.sort()
    for (start, size), (following, _) in pairwise(ranges):
        assert start + size <= following
    assert ranges[-1][0] + ranges[-1][1] <= shape.size


def test_token_rings_of_all_lanes_lie_together() -> None:
    shape = layout()
    ids = shape.rings[0]
    starts = [shape.slots_at(lane, ids) for lane in range(shape.lanes)]
    assert starts == [shape.tokens_at + lane * shape.tokens_size for lane in range(shape.lanes)]
    assert shape.bulk_at == shape.tokens_at + shape.lanes * shape.tokens_size


def resident(fd: int) -> int:
    return os.fstat(fd).st_blocks * 512


def test_lanes_cost_memory_only_while_they_are_used() -> None:
    shape = Layout(
        ("a", "b"), 1000, (RingSpec("big", RingKind.AUDIO, "a", "b", 1024, 320),), (), text=0
    )
    bells = {name: BellPipe.create() for name in ("a", "b")}
    with Arena.create(shape, "a", bells) as arena:
        idle = resident(arena.fd)
        assert shape.size > 500 * 2**20
        assert idle < 2**20
        arena.claim(500)
        assert resident(arena.fd) >= idle + shape.bulk_size
        arena.lane(500).audio("big").put(np.ones(320, np.int16), first=0, rate=16_000)
        arena.give_back(500)
        assert resident(arena.fd) < idle + 2**20
    for bell in bells.values():
        bell.close()


def test_an_attacher_that_exits_harms_nobody(pair: Pair) -> None:
    """python/cpython#82300: with named memory, the child's exit unlinked it for everyone."""
    code = (
        "import sys; from ringbuf import Arena, BellPipe;"
        "b = {n: BellPipe(-1, -1) for n in 'ab'};"
        "a = Arena.attach(int(sys.argv[1]), 'b', b);"
        "print(a.lane(1).token('ids').ids[0])"
    )
    pair.writer.token("ids").put(42, position=0, turn=1, answer=1)
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(pair.a.fd)],
        pass_fds=[pair.a.fd],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert (child.stdout.strip(), child.stderr) == ("42", "")
    assert pair.writer.token("ids").put(43, position=1, turn=1, answer=1)
    with pair.reader.token("ids").read() as batch:
        assert [run.ids.tolist() for run in batch.runs()] == [[42, 43]]


def test_closing_while_a_view_lives_keeps_the_view_and_the_first_error() -> None:
    """python/cpython#115635: close() raised BufferError over the real error."""
    made = Pair()
    ids = made.writer.token("ids").ids
    with pytest.raises(RuntimeError, match="the real error"), made.a:
        raise RuntimeError("the real error")
    made.close()
    made.a.close()  # idempotent
    ids[0] = 7
    assert ids[0] == 7


def refusal(data: bytes) -> str:
    fd = create(len(data)) if data else create(1)
    os.pwrite(fd, data, 0)
    if not data:
        os.ftruncate(fd, 0)
    try:
        with pytest.raises(LayoutMismatch) as caught:
            read_layout(fd)
        return str(caught.value)
    finally:
        os.close(fd)


def header() -> bytes:
    made = Pair()
    try:
        return os.pread(made.a.fd, 4096, 0)
    finally:
        made.close()


def test_foreign_memory_is_refused() -> None:
    assert "VOXRING" in refusal(b"")
    assert "VOXRING" in refusal(b"RIFF" + bytes(100))


def test_another_version_is_refused_with_both_numbers() -> None:
    old = bytearray(header())
    old[8] = 99
    message = refusal(bytes(old))
    assert "99" in message
    assert f"version {VERSION}" in message


def test_a_truncated_arena_is_refused_with_both_sizes() -> None:
    assert "4096 bytes" in refusal(header())


@settings(max_examples=200)
@given(st.binary(max_size=300), st.integers(0, 400), st.data())
def test_no_header_can_crash_attach(noise: bytes, at: int, data: st.DataObject) -> None:
    good = bytearray(header())
    good[at : at + len(noise)] = noise
    cut = data.draw(st.integers(0, len(good)))
    refusal(bytes(good[:cut]))


def test_text_that_does_not_fit_is_refused() -> None:
    bells = {name: BellPipe(-1, -1) for name in ("a", "b")}
    with pytest.raises(ValueError, match="65 bytes"):
        Arena.create(layout(), "a", bells, bytes(65))
