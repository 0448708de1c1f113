from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models import smart_turn_path

constants = pytest.importorskip("huggingface_hub.constants")

HUB = "pipecat-ai/smart-turn-v3"
RELEASES = (
    "smart-turn-v3.0.onnx",
    "smart-turn-v3.1-cpu.onnx",
    "smart-turn-v3.2-cpu.onnx",
    "smart-turn-v3.2-gpu.onnx",
)


def fill(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def test_a_file_is_taken_as_it_is(tmp_path: Path, isolated: None) -> None:
    model = fill(tmp_path, "mine.onnx") / "mine.onnx"
    assert smart_turn_path(str(model)) == model


def test_the_only_model_of_a_folder_is_meant(tmp_path: Path, isolated: None) -> None:
    fill(tmp_path, "mine.onnx", "LICENSE")
    assert smart_turn_path(str(tmp_path)) == tmp_path / "mine.onnx"


def test_of_the_hubs_files_the_newest_for_cpus_is_taken(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, isolated: None
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    repo = tmp_path / "hub" / "models--pipecat-ai--smart-turn-v3"
    snapshot = fill(repo / "snapshots" / ("c" * 40), *RELEASES)
    fill(repo / "refs")
    (repo / "refs" / "main").write_text("c" * 40)
    assert smart_turn_path(HUB) == snapshot / "smart-turn-v3.2-cpu.onnx"


def test_a_hub_model_that_is_not_here_is_asked_for_by_its_name(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, isolated: None
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=f"'{HUB}' is not in the cache, and HF_HUB_OFFLINE"):
        smart_turn_path(HUB)


@pytest.mark.parametrize(
    ("names", "remedy"),
    [
        ((), "Use bundle:smart-turn-v3.2"),
        (("a.onnx", "b.onnx"), "Name one of them: a.onnx, b.onnx"),
    ],
)
def test_a_folder_that_does_not_say_which_is_refused(
    tmp_path: Path, names: tuple[str, ...], remedy: str
) -> None:
    fill(tmp_path, *names)
    with pytest.raises(ModelError, match=f"holds {len(names)} ONNX files") as caught:
        smart_turn_path(str(tmp_path))
    assert caught.value.remedy.startswith(remedy)
