import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models import silero_vad_path


def test_the_model_is_found_without_importing_its_package() -> None:
    pytest.importorskip("faster_whisper")
    code = (
        "import sys; from pipeline.models import silero_vad_path; print(silero_vad_path());"
        "assert not {'faster_whisper', 'ctranslate2', 'torch'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).stat().st_size > 100_000


def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.models.silero.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"faster-whisper is not installed.*voxring\[local\]"):
        silero_vad_path()


def test_a_release_without_the_file_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faster_whisper").mkdir()
    (tmp_path / "faster_whisper" / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "faster_whisper", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="no silero_vad"):
        silero_vad_path()
