import os

import pytest

from benchmarks import usage
from benchmarks.usage import Snapshot, Usage

STATUS = "Name:\tpython\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t7\n"
ROLLUP = (
    "55-7f ---p 00000000 00:00 0 [rollup]\n"
    "Rss:  500 kB\nPss:  120 kB\nPss_Anon:  99 kB\nPss_Shmem: 1 kB\n"
)


def test_the_kernels_texts_are_read() -> None:
    assert usage.parse_wakeups(STATUS) == 12
    assert usage.parse_pss(ROLLUP) == 120
    assert usage.parse_pss(ROLLUP, usage.OWN) == 100


def test_a_text_without_the_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no Pss"):
        usage.parse_pss("Rss: 1 kB")


def test_two_snapshots_give_shares_of_a_core() -> None:
    earlier = Snapshot(0, {"a": Usage(1_000_000, 10)})
    later = Snapshot(2_000_000_000, {"a": Usage(21_000_000, 110)})
    assert later.cpu_percent(earlier) == {"a": pytest.approx(1.0)}
    assert later.wakeups_per_s(earlier) == {"a": pytest.approx(50)}


def test_this_program_is_accounted_for() -> None:
    before = usage.take({"me": os.getpid()})
    sum(range(200_000))
    after = usage.take({"me": os.getpid()})
    assert after.programs["me"].cpu_ns > before.programs["me"].cpu_ns
    assert usage.memory_mib(os.getpid()) > 1
