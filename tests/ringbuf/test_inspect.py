"""An arena as people see it."""

import os
import subprocess
import sys

import pytest

from ringbuf import Arena, BellPipe, EventRecord, Layout, NoArena
from ringbuf.inspect import arenas_of, describe
from tests.ringbuf.pair import Pair

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
NOBODY = 2**22 + 1  # above the largest process id


def test_everything_that_matters_is_told(pair: Pair) -> None:
    pair.a.claim(1)
    pair.writer.token("ids").put(1, position=0, turn=1, answer=1)
    pair.writer.set("word", 0x2A)
    pair.a.bell.beat = 500_000_000
    pair.a.mark_dead("b")
    text = describe(pair.a, 2_000_000_000)
    lines = [line.split() for line in text.splitlines()]
    assert "1 of 2 lanes open" in text
    assert f"an open lane costs {pair.a.layout.lane_size / 2**20:.2f} MiB" in text
    assert ["a", "awake", "0", "1.5", "s", "ago", "0", "none", "0/4", "0"] in lines
    assert ["b", "dead", "1", "none", "0", "1", "0/4", "0"] in lines
    assert "lane 1: word 0x2a" in text
    assert ["ids", "a", "->", "b", "1/8", "1", "0", "0"] in lines
    assert "lane 0" not in text


def test_looking_disturbs_nobody(pair: Pair) -> None:
    pair.a.claim(1)
    pair.writer.token("ids").put(1, position=0, turn=1, answer=1)
    for arena in arenas_of(os.getpid()):
        assert describe(arena, 0) == describe(arena, 0)
    assert not pair.a.is_claimed(0)
    assert pair.b.bell.take() == [1]
    assert len(pair.reader.token("ids")) == 1


def test_the_arenas_of_a_program_are_found_once_each(pair: Pair) -> None:
    before = len(list(arenas_of(os.getpid())))
    other = Pair()  # two descriptors of one arena
    try:
        assert len(list(arenas_of(os.getpid()))) == before + 1
    finally:
        other.close()


def test_a_program_without_one_or_none_at_all() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with pytest.raises(NoArena, match="holds no arena"):
            list(arenas_of(child.pid))
    finally:
        child.communicate(b"\n", timeout=30)
    with pytest.raises(NoArena, match=f"there is no process {NOBODY}"):
        list(arenas_of(NOBODY))


def test_the_command_prints_it_and_is_plain_about_mistakes(pair: Pair) -> None:
    command = [sys.executable, "-m", "pipeline", "doctor", "--arena"]
    good = subprocess.run(
        [*command, str(os.getpid())], capture_output=True, text=True, timeout=60, check=True
    )
    assert "a -> b" in good.stdout or "0 of 2 lanes open" in good.stdout
    bad = subprocess.run(
        [*command, str(NOBODY)], capture_output=True, text=True, timeout=60, check=False
    )
    assert bad.returncode == 1
    assert bad.stderr.startswith(f"error: there is no process {NOBODY}")
    assert bad.stderr.count("\n") == 1


def test_who_only_looks_at_events_takes_none_and_misses_only_what_was_written_over() -> None:
    layout = Layout(processes=("a", "b"), lanes=1, rings=(), words=(), events=4)
    bells = {name: BellPipe.create() for name in layout.processes}
    with Arena.create(layout, "a", bells) as arena:
        ring = arena.events("a")
        records = [EventRecord(0, 0, 0, 1, at, 0) for at in range(6)]
        ring.put(records[0])
        ring.put(records[1])
        assert ring.look(0) == (records[:2], 2)
        assert ring.look(2) == ([], 2)
        assert ring.take() == records[:2], "nothing was taken"
        assert ring.look(0) == (records[:2], 2), "and what was read is still there"
        for record in records[2:]:
            ring.put(record)
        assert ring.look(0) == (records[2:], 6), "two were written over"
        assert ring.look(5) == (records[5:], 6)
    for bell in bells.values():
        bell.close()
