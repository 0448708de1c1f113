"""A fresh virtual environment with bare `voxring`: no extras, none of ours."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SOURCES = ("configs", "pipeline", "ringbuf", "stages")


def pip(python: Path) -> list[str]:
    """The command that works on an interpreter's packages."""
    return [sys.executable, "-m", "pip", "--python", str(python)]


@pytest.fixture(scope="session")
def second_interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its `python`. The project is built from a copy, so that no build lands in the checkout."""
    source = tmp_path_factory.mktemp("source")
    junk = shutil.ignore_patterns("__pycache__", "*.so")
    for name in SOURCES:
        shutil.copytree(PROJECT / name, source / name, ignore=junk)
    for file in PROJECT.iterdir():
        if file.suffix in (".toml", ".py", ".md") or file.name in ("LICENSE", "NOTICE"):
            shutil.copy(file, source)
    place = tmp_path_factory.mktemp("second") / "venv"
    # Our pip installs into it: one of its own, and byte code that nobody reads, take longer than
    # all the rest.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    installed = subprocess.run(
        [*pip(python), "install", "--quiet", "--no-compile", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if installed.returncode:
        offline = ("Could not find a version", "connection", "NewConnectionError")
        if any(word in installed.stderr for word in offline):
            pytest.skip(f"needs the package index: {installed.stderr.strip().splitlines()[-1]}")
        pytest.fail(installed.stderr)
    return python
