"""A run as a terminal shows it."""

import io

from rich.console import Console

from pipeline.lab.run import Turn
from pipeline.lab.table import run_table, turn_line
from tests.pipeline.lab.making import run_of, turn


def shown(what: object) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(what)
    return out.getvalue()


def test_a_turn_is_a_line_with_its_longest_step() -> None:
    late = turn(ms=804.0, silent_ms=90.0)
    assert shown(turn_line(late)).strip() == (
        "q 1 · answered · 804 ms, longest first_sound 555 · silent after 90 ms"
    )
    assert "q cold · answered" in shown(turn_line(turn(warm=False)))


def test_a_turn_that_does_not_count_has_no_figure() -> None:
    cut: Turn = turn(ms=None, cut_off=True, errors=["tts: \x1b]0;title\x07 it broke"])
    text = shown(turn_line(cut))
    assert "cut off" in text
    assert "it broke" in text
    assert "\x1b" not in text, "what a stage says commands no terminal"
    assert " ms" not in text


def test_warm_and_cold_are_apart_in_the_table() -> None:
    rows = shown(run_table(run_of(turn(ms=300), turn(ms=500, repeat=2), turn(ms=900, warm=False))))
    assert "│ q    │ 400 │ 490 │ 500 │ 2 │  900 │" in rows
    assert "all" not in rows, "one turn is all of them"
    both = shown(run_table(run_of(turn("a", ms=300), turn("b", ms=None))))
    assert "│ b    │   - │   - │   - │ 0 │    - │" in both
    assert "│ all  │ 300 │ 300 │ 300 │ 1 │    - │" in both
