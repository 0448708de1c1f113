import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models import State, fetch, prepare_llm, resolve, state, verify
from pipeline.models.bundle import Bundle


def test_the_first_use_fetches_and_the_next_does_not(
    catalogued: Bundle, root: Path, request: pytest.FixtureRequest
) -> None:
    assert state(catalogued) is State.MISSING
    told: list[str] = []
    folder = resolve("bundle:tiny", lambda text, _: told.append(text))
    assert "fetching tiny" in told
    assert state(catalogued) is State.READY
    request.getfixturevalue("isolated")
    told.clear()
    assert resolve("tiny", lambda text, _: told.append(text)) == folder
    assert told == []


def test_a_damaged_file_is_named_until_it_is_fetched_again(catalogued: Bundle, root: Path) -> None:
    folder = resolve("tiny")
    (folder / "config.json").write_text("[]")
    assert state(catalogued) is State.DAMAGED
    for look in (resolve, fetch, verify):
        with pytest.raises(ModelError, match=r"config\.json has a wrong checksum") as caught:
            look("tiny")
        assert "voxring models fetch" in caught.value.remedy
        assert caught.value.remedy.endswith("tiny --force")
    fetch("tiny", force=True)
    verify("tiny")
    assert state(catalogued) is State.READY


def test_verify_finds_what_the_quick_look_cannot(catalogued: Bundle, root: Path) -> None:
    path = resolve("tiny") / "config.json"
    before = path.stat()
    path.write_text("[]")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert state(catalogued) is State.READY
    with pytest.raises(ModelError, match="wrong checksum"):
        verify("tiny")


def test_verify_fetches_nothing(catalogued: Bundle, root: Path, isolated: None) -> None:
    with pytest.raises(ModelError, match="not in the cache") as caught:
        verify("tiny")
    assert caught.value.remedy == "Run: voxring models fetch tiny"
    assert not root.exists()


def test_a_path_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: None
) -> None:
    (tmp_path / "voice.onnx").touch()
    monkeypatch.chdir(tmp_path)
    assert resolve("./voice.onnx") == tmp_path / "voice.onnx"
    assert resolve(str(tmp_path)) == tmp_path


def test_an_unknown_name_suggests_a_bundle(root: Path) -> None:
    with pytest.raises(ModelError, match="Did you mean 'bundle:smollm2-135m-instruct'"):
        prepare_llm("smollm-135m-instruct")


def test_a_folder_of_safetensors_is_ready_as_it_is(
    tmp_path: Path, root: Path, isolated: None
) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.Q4.gguf").touch()  # a repository may hold both
    assert prepare_llm(str(tmp_path)) == tmp_path


def test_what_is_no_language_model_is_said(tmp_path: Path, root: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="holds no language model"):
        prepare_llm(str(tmp_path / "empty"))
    (tmp_path / "a.gguf").touch()
    (tmp_path / "b.gguf").touch()
    with pytest.raises(ModelError, match=r"2 GGUF files, expected one. Name one of them: a\.gguf"):
        prepare_llm(str(tmp_path))


def test_a_warm_start_imports_no_model_library(catalogued: Bundle, root: Path) -> None:
    folder = resolve("tiny")
    code = f"""
import sys
from pipeline.models import resolve, silero_vad_path, catalogue, state
resolve({str(folder)!r})
[state(bundle) for bundle in catalogue()]
print(*({{"torch", "transformers", "huggingface_hub", "gguf", "numpy"}} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
