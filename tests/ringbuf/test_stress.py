"""Two real programs: a short run of `benchmarks.ring_stress` and of `benchmarks.ring_kill`."""

import random

import pytest

from benchmarks.ring_fuzz import attach, damage, good_arena
from benchmarks.ring_kill import CAPACITIES, LIMIT_MS, kill
from benchmarks.ring_peer import READER, WRITER
from benchmarks.ring_stress import stress


@pytest.mark.parametrize(
    ("capacity", "tokens"), [(1, 2_000), (2, 2_000), (8, 10_000), (64, 50_000), (4096, 500_000)]
)
def test_everything_comes_once_and_in_order_across_the_wrap(capacity: int, tokens: int) -> None:
    outcome = stress(capacity, tokens, seed=capacity)
    assert outcome.errors == ()
    assert outcome.tokens == tokens
    assert outcome.recoveries == 0


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("victim", [WRITER, READER])
def test_a_kill_leaves_a_prefix_and_a_name(victim: str, capacity: int) -> None:
    """vllm-project/vllm#27313: the writer of a full ring was never told that its reader is dead."""
    death = kill(victim, capacity, random.Random(capacity))
    assert death.trouble == ""
    assert death.heard_ms < LIMIT_MS


def test_damaged_memory_is_refused_or_an_arena() -> None:
    good, chance = good_arena(), random.Random(1)
    outcomes = {attach(damage(good, chance)) for _ in range(500)}
    assert outcomes == {"refused", "accepted"}
