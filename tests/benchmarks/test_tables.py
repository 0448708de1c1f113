import re
from pathlib import Path

import pytest

from benchmarks.command import figure
from benchmarks.metrics import BENCHMARKS, IDLE, RING, Bar
from benchmarks.tables import generate, insert, pages, section
from pipeline.terminal.latency import SHORT
from tests.benchmarks.results import result

ROOT = Path(__file__).parents[2]
BEGIN = "<!-- x: written by `python -m benchmarks.tables`, not by hand -->"
END = "<!-- end of x -->"


def test_the_committed_pages_are_what_the_results_say() -> None:
    for path, page in pages().items():
        assert path.read_text(encoding="utf-8") == page, "run python -m benchmarks.tables"


def test_the_recording_of_a_conversation_shows_what_the_program_shows() -> None:
    recorded = " ".join((ROOT / "benchmarks" / "results" / "talk.txt").read_text().split())
    missing = [name for name in SHORT.values() if not re.search(rf"\b{name} \d+\b", recorded)]
    assert not missing, "run python -m benchmarks.talk > benchmarks/results/talk.txt"


def test_tables_replace_only_what_is_between_the_markers() -> None:
    page = insert(f"above\n{BEGIN}\nold\n{END}\nbelow\n", "new", "x")
    assert page == f"above\n{BEGIN}\n\nnew\n\n{END}\nbelow\n"
    assert insert(page, "new", "x") == page


@pytest.mark.parametrize("page", ["", BEGIN, END + BEGIN, BEGIN + BEGIN + END])
def test_a_page_without_its_markers_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="the page needs"):
        insert(page, "new", "x")


def test_a_figure_beyond_its_bar_is_marked() -> None:
    text = section(RING, {"ring": result("ring", token_ratio_p50=0.9, recoveries=0)})
    assert "| ≤ 0.7 | 0.9 **missed** |" in text
    assert "| ≤ 0 | 0 |" in text


def test_hardware_load_and_n_are_shown() -> None:
    text = section(RING, {"ring": result("ring", recoveries=0)})
    assert "| ring | 7 | Abacus \\| 9, 2 cores | 0.1 → 1.5 | quick yes, clips a.wav b.wav |" in text


def test_each_result_is_a_column_and_parts_follow_their_whole() -> None:
    mine = result("idle", **{"memory_mib": 1500, "memory_mib.asr": 200, "ready_s": 3.14159})
    text = section(IDLE, {"laptop": mine, "other": result("idle", ready_s=None)})
    assert "| metric | meaning | bar | laptop | other |" in text
    names = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert names.index("memory_mib.asr") == names.index("memory_mib") + 1
    assert "| 3.14 | - |" in text


def test_without_results_the_metrics_are_still_explained() -> None:
    text = generate({})
    # the sweep and the end of a turn have pages of their own
    assert text.count("No result is committed yet.") == len(BENCHMARKS) - 2
    assert "`first_audio_p50_ms`" in text


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(KeyError):
        section(RING, {"ring": result("ring", speed=1)})


def test_bars_hold_at_their_limit() -> None:
    assert Bar(1.0).holds(1.0)
    assert not Bar(1.0).holds(1.01)
    assert Bar(6, upward=True).holds(7)
    assert not Bar(6, upward=True).holds(5.9)
    assert str(Bar(6, upward=True)) == "≥ 6"


def test_figures_are_short() -> None:
    shown = [figure(value) for value in (1234.5, 99.94, 0.0135, 1_000_000, 0, None, -41.26)]
    assert shown == ["1,234", "99.9", "0.0135", "1,000,000", "0", "-", "-41.3"]
