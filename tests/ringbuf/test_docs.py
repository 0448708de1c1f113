"""docs/ringbuf.md says what is true."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.command import figure
from ringbuf import _core, errors
from ringbuf.layout import RingKind, columns
from tests.ringbuf.native.mutants import MUTANTS, Tool

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ringbuf.md").read_text(encoding="utf-8")
DTYPES = {"<i4": "int32", "<u4": "uint32", "<i8": "int64", "<u1": "uint8", "<i2": "int16"}


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    exec(compile(example, "ringbuf.md", "exec"), {})
    assert capsys.readouterr().out == "[42] 0\n"


def test_the_offsets_are_those_of_the_core() -> None:
    told = {name: int(at) for name, at in re.findall(r"^\| `(\w+\.\w+)` \| (\d+) \|", PAGE, re.M)}
    assert told == {name: at for name, at in _core.LAYOUT.items() if "." in name}


@pytest.mark.parametrize("kind", [RingKind.TOKEN, RingKind.AUDIO, RingKind.EVENT])
def test_the_columns_are_those_of_the_layout(kind: RingKind) -> None:
    (row,) = re.findall(rf"^\| {kind} \| (.*) \|$", PAGE, re.M)
    told = {}
    for names, dtype in re.findall(r"((?:`\w+` )+)(\w+)", row):
        told |= dict.fromkeys(re.findall(r"\w+", names), dtype)
    assert told == {name: DTYPES[dtype] for name, (dtype, _) in columns(kind, 1).items()}


def test_every_order_is_explained() -> None:
    rows = re.findall(r"^\| ((?:`[A-Z_]+`(?:, )?)+) \| .* \| (TSan|Spin) \|$", PAGE, re.M)
    told = {(name, tool) for names, tool in rows for name in re.findall(r"[A-Z_]+", names)}
    tools = {Tool.TSAN: "TSan", Tool.SPIN: "Spin"}
    assert told == {(m.name, tools[m.tool]) for m in MUTANTS if m.name.isupper()}
    assert f"{len(MUTANTS)} of {len(MUTANTS)} mutants" in PAGE


def test_every_error_is_named() -> None:
    told = set(re.findall(r"^ [├└]── (\w+)", PAGE, re.M))
    tree = {e.__name__ for e in errors.RingError.__subclasses__()}
    assert told == tree
    assert tree == set(re.findall(r"^ [├└]── (\w+)", errors.__doc__ or "", re.M))


def test_the_figures_are_those_of_the_committed_run() -> None:
    result = json.loads((ROOT / "benchmarks" / "results" / "ring.json").read_text())
    told = dict(re.findall(r"^\| `(\w+)` \| ([\d.,]+) \|", PAGE, re.M))
    told = {name: value for name, value in told.items() if name in result["metrics"]}
    assert len(told) > 10
    assert told == {name: figure(result["metrics"][name]) for name in told}
