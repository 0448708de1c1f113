"""The orders of the C core, each of them needed: `python -m tests.ringbuf.native.mutants`."""

import pytest

from tests.ringbuf.native.mutants import (
    MUTANTS,
    Mutant,
    Tool,
    find_compiler,
    find_spin,
    model,
    orders,
    race,
)


@pytest.fixture(scope="module")
def compiler() -> str:
    found = find_compiler()
    if not found:
        pytest.skip("needs gcc or clang with ThreadSanitizer (libtsan)")
    return found


@pytest.fixture(scope="module")
def spin() -> str:
    found = find_spin()
    if not found:
        pytest.skip("needs the model checker spin and a C compiler")
    return found


def test_every_order_has_a_mutant() -> None:
    assert orders() == {mutant.name for mutant in MUTANTS if mutant.name.isupper()}


def test_no_data_race_no_lost_wake_up(compiler: str) -> None:
    assert race(compiler, []) == ""


@pytest.mark.parametrize("flags", [[], ["-DCAP=2"], ["-DCAP=2", "-DITEMS=4"], ["-DNO_KILL"]])
def test_nobody_sleeps_for_ever(spin: str, flags: list[str]) -> None:
    assert model(spin, flags) == ""


@pytest.mark.parametrize(
    "mutant", [m for m in MUTANTS if m.tool is Tool.TSAN], ids=lambda m: m.name
)
def test_a_weaker_order_is_a_data_race(compiler: str, mutant: Mutant) -> None:
    assert race(compiler, [mutant.flag]) == "data race"


@pytest.mark.parametrize(
    "mutant", [m for m in MUTANTS if m.tool is Tool.SPIN], ids=lambda m: m.name
)
def test_a_weaker_order_is_a_lost_wake_up(spin: str, mutant: Mutant) -> None:
    assert model(spin, [mutant.flag]) == "asleep for ever"
