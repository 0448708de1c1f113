"""Building a model for ONNX Runtime, with programs in place of the real builder.

The real one runs in tests/stages/llm.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models import fetch, onnx_build, prepare_onnx, verify

BUILD = """
import sys
from pathlib import Path
place = Path(sys.argv[sys.argv.index("-o") + 1])
for layer in range(4):
    print("Reading layer", layer)
(place / "model.onnx").write_text(" ".join(sys.argv[1:]))
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": 4}))
    (folder / "model-1.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, root: Path) -> Callable[[str], None]:
    """Let other code build."""

    def use(code: str) -> None:
        program = (sys.executable, "-c", code)
        monkeypatch.setitem(onnx_build.build.__kwdefaults__, "builder", program)

    use(BUILD)
    return use


def test_a_model_is_built_once_for_each_quantization(
    source: Path, builder: Callable[[str], None], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, float | None]] = []
    folder = prepare_onnx(str(source), "none", lambda *what: told.append(what))
    assert folder.parent.parent == root / "onnx"
    assert folder.parent.name.startswith("mine-")
    assert told[0] == (f"building {folder.parent.name} for ONNX Runtime (once)", 0.0)
    given = (folder / "model.onnx").read_text()
    assert f"-i {source}" in given
    assert "-p fp32 -e cpu" in given
    builder("raise SystemExit('again')")
    assert prepare_onnx(str(source), "none") == folder
    builder(BUILD)
    shrink = "import sys; open(sys.argv[2] + '/model.onnx', 'w').write('shrunk')"
    monkeypatch.setattr("pipeline.models.onnx_build.SHRINKER", (sys.executable, "-c", shrink))
    other = prepare_onnx(str(source), "int4")
    assert other == folder.parent / "int4"
    assert (other / "model.onnx").read_text() == "shrunk"
    assert list((root / "partial").iterdir()) == []


def test_a_cache_that_was_copied_is_used_without_the_builder(
    source: Path, builder: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies may cut times to whole seconds; then stamps are written again."""
    folder = prepare_onnx(str(source), "none")
    (source / ".verified.json").write_text("{}")  # as a model that was fetched has
    for path in [*source.iterdir(), *folder.iterdir()]:
        os.utime(path, (1, 1))
    builder("raise SystemExit('the builder is not installed')")
    assert prepare_onnx(str(source), "none") == folder


def test_a_hub_model_has_its_own_place(
    source: Path, builder: Callable[[str], None], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.models.store.cached_hub", lambda name, _: source)
    folder = prepare_onnx("org/name", "int8")
    assert folder == root / "onnx" / "org--name" / "int8"
    (source / "config.json").write_text("{}")  # another revision
    builder("raise SystemExit('again')")
    with pytest.raises(ModelError, match="again"):
        prepare_onnx("org/name", "int8")


def test_progress_follows_the_builder(tmp_path: Path) -> None:
    log = tmp_path / "log"
    shares = []
    for lines in range(5):
        log.write_text("Reading layer\n" * lines)
        shares.append(onnx_build._share(log, 4))
    assert shares == sorted(set(shares))
    assert 0 < shares[0] < shares[-1] < 1


@pytest.mark.parametrize("changed", ["model-1.safetensors", "config.json", "model-2.safetensors"])
def test_other_weights_or_another_builder_make_it_again(
    source: Path,
    builder: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    changed: str,
) -> None:
    folder = prepare_onnx(str(source), "none")
    before = (folder / "model.onnx").stat().st_ino
    (source / changed).write_text("{}")
    assert (prepare_onnx(str(source), "none") / "model.onnx").stat().st_ino != before
    builder("raise SystemExit('again')")
    monkeypatch.setattr("pipeline.models.onnx_build._OURS", "other")
    with pytest.raises(ModelError, match="again"):
        prepare_onnx(str(source), "none")


def test_what_the_builder_cannot_do_is_one_line(
    source: Path, builder: Callable[[str], None], root: Path
) -> None:
    builder("print('a\\nb'); raise NotImplementedError('The Rwkv model is not supported.')")
    with pytest.raises(ModelError, match=r"Rwkv model is not supported\.") as caught:
        prepare_onnx(str(source), "none")
    assert caught.value.remedy.startswith("Set llm.stage to 'transformers'")
    assert "\n" not in str(caught.value)
    assert not list((root / "onnx").rglob("*.onnx"))


def test_without_the_builder_a_build_is_used_and_none_is_made(
    source: Path, builder: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = prepare_onnx(str(source), "int8")
    monkeypatch.setattr("pipeline.models.onnx_build._NEEDED", ("no_such_module",))
    assert prepare_onnx(str(source), "int8") == folder
    with pytest.raises(ModelError, match="no_such_module is not installed") as caught:
        prepare_onnx(str(source), "none")
    assert "voxring[local]" in caught.value.remedy


def test_a_damaged_build_is_named_and_forced_away(
    source: Path, builder: Callable[[str], None]
) -> None:
    path = prepare_onnx(str(source), "none") / "model.onnx"
    before = path.stat()
    text = path.read_text()
    path.write_text(text.replace("fp32", "fp23"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    prepare_onnx(str(source), "none")  # the quick look cannot find it
    with pytest.raises(ModelError, match=r"model\.onnx has a wrong checksum") as caught:
        verify(str(source))
    assert caught.value.remedy == f"Run: voxring models fetch {source} --force"
    fetch(str(source), force=True)
    prepare_onnx(str(source), "none")
    verify(str(source))


def test_a_killed_build_leaves_nothing_that_looks_whole(
    source: Path, builder: Callable[[str], None], root: Path
) -> None:
    builder(BUILD + "\nimport os; os.kill(os.getpid(), 9)")
    with pytest.raises(ModelError, match="cannot be built"):
        prepare_onnx(str(source), "none")
    assert not list((root / "onnx").rglob("*.onnx"))
    builder(BUILD)
    prepare_onnx(str(source), "none")


def test_packed_weights_are_for_one_processor(
    source: Path, builder: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = "import sys; open(sys.argv[2] + '/model.onnx', 'w').write('packed')"
    monkeypatch.setattr("pipeline.models.onnx_build.PACKER", (sys.executable, "-c", pack))
    folder = prepare_onnx(str(source), "int8", mapped=True)
    assert folder.name == "int8-mapped"
    assert (folder / "model.onnx").read_text() == "packed"
    builder("raise SystemExit('again')")
    assert prepare_onnx(str(source), "int8", mapped=True) == folder
    monkeypatch.setattr("pipeline.models.onnx_build._processor", lambda: "another")
    with pytest.raises(ModelError, match="again"):
        prepare_onnx(str(source), "int8", mapped=True)
