"""Memory without a name, checked on attach, given back lane by lane."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringbuf import (
    VERSION,
    Arena,
    ArenaFull,
    BellPipe,
    Layout,
    LayoutMismatch,
    RingKind,
    RingSpec,
    _core,
    memory,
    read_layout,
)
from ringbuf.arena import HEAD, MAGIC
from ringbuf.layout import HEADER
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
FIELDS = ("processes", "lanes", "rings", "words", "events", "text", "version", "built")
RING_FIELDS = ("name", "kind", "writer", "reader", "capacity", "block")


@settings(max_examples=300)
@given(st.sampled_from((*FIELDS, *RING_FIELDS)), JSON)
def test_no_layout_can_crash_attach(field: str, value: object) -> None:
    """Well-formed JSON that says something else: refused, or a layout like any other."""
    raw = json.loads(layout().json)
    if field in FIELDS:
        raw[field] = value
    else:
        raw["rings"][0][field] = value
    text = json.dumps(raw).encode()
    size = layout().size
    fd = create(size)
    try:
        os.pwrite(fd, HEAD.pack(MAGIC, VERSION, len(text), 64, 0, size).ljust(HEADER, b"\0"), 0)
        os.pwrite(fd, text, HEADER)
        try:
            shape = read_layout(fd)
        except LayoutMismatch:
            return
        with Arena.look(os.dup(fd)) as arena:
            assert arena.lane(0).rings.keys() == {ring.name for ring in shape.rings}
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b"1e999", b"{}", b"null", b'{"built": null}', b"\xff\xfe"]
)
def test_a_layout_that_is_none(text: bytes) -> None:
    size = 2**20
    head = HEAD.pack(MAGIC, VERSION, len(text), 64, 0, size).ljust(HEADER, b"\0")
    assert "does not parse" in refusal((head + text).ljust(size, b"\0"))


def test_a_layout_without_end_is_not_even_read() -> None:
    assert "4294967295 bytes" in refusal(HEAD.pack(MAGIC, VERSION, 2**32 - 1, 0, 0, 64).ljust(64))


def test_other_dtypes_or_offsets_are_shown() -> None:
    text = layout().json.replace(b'"ring.tail":128', b'"ring.tail":64')
    head = HEAD.pack(MAGIC, VERSION, len(text), 64, 0, 4096).ljust(HEADER, b"\0")
    message = refusal((head + text).ljust(4096, b"\0"))
    assert "'ring.tail': 64" in message
    assert "'ring.tail': 128" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lanes": 0}, "lanes"),
        ({"events": 3}, "a power of two"),
        ({"text": -1}, "text"),
        ({"processes": ("a", "a")}, "a name of its own"),
        ({"processes": ("a",)}, "no such process: b"),
        ({"rings": (RingSpec("r", RingKind.TOKEN, "a", "b", 3),)}, "capacity of r"),
    ],
)
def test_a_layout_that_cannot_work_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(layout(), **change)


def test_layout_takes_its_numbers_from_the_core() -> None:
    core = _core.LAYOUT
    assert (core["bell"], core["ring"], core["line"]) == (256, 384, 128)
    shape = layout()
    ids = shape.rings[0]
    counters = [shape.counters_at(0, ring) for ring in shape.rings]
    assert counters[1] - counters[0] == core["ring"]
    assert shape.words_at(0) - counters[-1] == core["ring"]
    assert shape.counters_at(1, ids) % core["line"] == 0


def test_the_size_is_fixed(pair: Pair) -> None:
    """A peer that truncated the memory would make every other one fail with SIGBUS."""
    with pytest.raises(PermissionError):
        os.ftruncate(pair.a.fd, 4096)


def test_a_stranger_is_refused(pair: Pair) -> None:
    with pytest.raises(ValueError, match="a, b, no process 'c'"):
        Arena.attach(pair.a.fd, "c", pair.bells)
    with pytest.raises(IndexError, match="lane 2 of 2"):
        pair.a.lane(2)


def test_a_lane_that_does_not_fit_is_refused_with_both_numbers(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "left", lambda: 2**16)
    with pytest.raises(ArenaFull, match=r"lane 1 needs 0\.1 MiB .*, 0\.1 MiB is left") as caught:
        pair.a.claim(1)
    assert (caught.value.needs, caught.value.left) == (pair.a.layout.lane_size, 2**16)
    assert not pair.a.is_claimed(1)


def test_a_lane_larger_than_this_machine_is_refused() -> None:
    free = memory.left()
    if free is None:
        pytest.skip("this system does not say how much memory is free")
    slots = 1 << 28  # of more than 16 bytes each
    rings = (RingSpec(f"ids{n}", RingKind.TOKEN, "a", "b", slots) for n in range(2 + free // 2**32))
    big = replace(layout(), rings=tuple(rings))
    bells = {name: BellPipe(-1, -1) for name in ("a", "b")}
    with Arena.create(big, "a", bells, b"") as arena:
        with pytest.raises(ArenaFull) as caught:
            arena.claim(0)
        assert caught.value.needs > free
        assert not arena.is_claimed(0)


def test_a_lane_that_the_system_refuses_takes_nothing(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel says no half way: after the token slots, before the sound."""
    tokens, bulk = pair.a.layout.lane_memory(1)
    allocate = memory.allocate

    def refuse(fd: int, offset: int, size: int) -> None:
        if offset == bulk[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        allocate(fd, offset, size)

    monkeypatch.setattr(memory, "allocate", refuse)
    with pytest.raises(ArenaFull, match=r"lane 1 needs .* is left \(No space left on device\)"):
        pair.a.claim(1)
    assert not memory.is_allocated(pair.a.fd, *tokens)
    assert not pair.a.is_claimed(1)


def test_what_is_left_is_the_smaller_of_machine_and_group(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 100 kB\nMemAvailable:  50 kB\n")
    assert memory._available(meminfo) == 50 * 1024
    assert memory._below_limit(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 30\nactive_file 20\n")
    assert memory._below_limit(tmp_path) == 150
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._below_limit(tmp_path) is None
    assert memory._available(tmp_path / "nothing") is None


def test_who_only_looks_can_do_nothing(pair: Pair) -> None:
    pair.writer.token("ids").put(42, position=0, turn=1, answer=1)
    with Arena.look(os.dup(pair.a.fd)) as looker:
        lane = looker.lane(1)
        assert lane.token("ids").ids[0] == 42
        assert len(lane.token("ids")) == 1
        uses: list[Callable[[], object]] = [
            lambda: lane.set("word", 1),
            lambda: lane.token("ids").put(1, position=0, turn=0, answer=0),
            lambda: lane.token("ids").skip(),
            lambda: looker.bell_of("a").ring(0),
            lambda: looker.mark_dead("a"),
        ]
        for use in uses:
            with pytest.raises(TypeError, match="reading only"):
                use()
        with pytest.raises(ValueError, match="read-only"):
            lane.token("ids").ids[0] = 1


def test_text_that_does_not_fit_is_refused() -> None:
    bells = {name: BellPipe(-1, -1) for name in ("a", "b")}
    with pytest.raises(ValueError, match="65 bytes"):
        Arena.create(layout(), "a", bells, bytes(65))
