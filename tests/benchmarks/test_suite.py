"""`voxring bench`: every benchmark once, whatever becomes of the others."""

import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import suite
from benchmarks.metrics import BENCHMARKS
from benchmarks.suite import Entry, Run
from pipeline.commands import bench
from pipeline.errors import ConfigError
from tests.benchmarks.results import result

SILENT = Console(quiet=True)


def entry(name: str, code: str, **rest: object) -> Entry:
    return Entry(name, "asks", 1, ("-c",), suffix=".txt", **rest)  # type: ignore[arg-type]


def make(monkeypatch: pytest.MonkeyPatch, programs: dict[str, str]) -> None:
    entries = tuple(entry(name, "") for name in programs)
    monkeypatch.setattr(suite, "ENTRIES", entries)
    monkeypatch.setattr(
        Entry,
        "command",
        lambda self, folder, quick: [sys.executable, "-c", programs[self.name]],
    )


def read_runs(folder: Path) -> dict[str, str]:
    runs = json.loads((folder / "bench.json").read_text())
    return {one["name"]: one["verdict"] for one in runs}


def test_one_that_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make(monkeypatch, {"a": "print(1)", "b": "raise SystemExit(3)", "c": "print(2)"})
    code = suite.run((), tmp_path, SILENT, quick=True, record=False)
    assert code == suite.FAILED
    assert read_runs(tmp_path) == {"a": "done", "b": "failed", "c": "done"}
    assert (tmp_path / "c.txt").read_text() == "2\n"
    assert suite.run(["a"], tmp_path, SILENT, quick=True, record=False) == 0
    assert read_runs(tmp_path) == {"a": "done"}


def test_ctrl_c_ends_it_and_what_was_done_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make(monkeypatch, {"a": "print(1)", "b": "print(2)"})
    run_one = suite.run_one

    def interrupted(one: Entry, *rest: object, **more: object) -> Run:
        if one.name == "b":
            raise KeyboardInterrupt
        return run_one(one, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(suite, "run_one", interrupted)
    code = suite.run((), tmp_path, SILENT, quick=True, record=False)
    assert code == suite.INTERRUPTED
    assert read_runs(tmp_path) == {"a": "done", "b": "interrupted"}


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert suite.start(command, tmp_path / "out.txt", 0.2) is None


def test_what_this_machine_cannot_run_is_skipped(tmp_path: Path) -> None:
    one = entry("gpu", "", missing=lambda: "needs a GPU")
    run = suite.run_one(one, tmp_path, 1.0, quick=True)
    assert (run.verdict, run.note) == ("skipped", "needs a GPU")


def test_missed_bars_are_named(tmp_path: Path) -> None:
    one = Entry("ring", "", 1, ())
    result("ring", token_ratio_p50=0.9, recoveries=0).write(tmp_path / "ring.json")
    assert suite.missed(one, tmp_path) == "misses token_ratio_p50"


def test_every_benchmark_is_in_it_with_a_module_that_exists() -> None:
    for one in suite.ENTRIES:
        module = one.arguments[0].removeprefix("benchmarks.")
        assert (suite.ROOT / "benchmarks" / f"{module}.py").is_file()
    names = [one.name for one in suite.ENTRIES]
    assert names == [*(benchmark.name for benchmark in BENCHMARKS), "drill"]
    told = {*suite.LONGER, *suite.SHORTER, *suite.ELSEWHERE, *suite.NEEDS}
    assert told <= set(names)


def test_a_name_that_does_not_exist_is_told_with_those_that_do() -> None:
    with pytest.raises(ConfigError, match=r"no benchmark 'rings'\. There are: ring, overhead"):
        suite.chosen(["rings"])


def test_quick_figures_are_not_recorded(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="quick figures are not recorded"):
        suite.run((), tmp_path, SILENT, quick=True, record=True)


def test_an_installed_package_says_that_it_takes_a_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "pipeline" / "commands" / "bench.py"))
    with pytest.raises(ConfigError, match=r"not part of the installed package\. Clone"):
        bench.load_suite()
