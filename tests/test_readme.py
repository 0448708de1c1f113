"""The README says what is true: its commands run as printed, its pictures match the tree."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SET_UP = ["bash demos/run", "bash tests/run"]


def blocks(language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [text for kind, text in fences if kind == language]


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines()]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder in which the README's paths exist and answers may be written."""
    (tmp_path / "demos").symlink_to(ROOT / "demos")
    return tmp_path


def run(command: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ci_runs_the_two_commands_that_set_everything_up() -> None:
    ci = (ROOT / ".ci" / "run").read_text().splitlines()
    assert commands()[:2] == SET_UP
    assert [line for line in ci if line in SET_UP] == SET_UP


@pytest.mark.models
@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", [c for c in commands() if c not in SET_UP])
def test_every_other_command_runs_as_printed(command: str, clone: Path) -> None:
    assert run(shlex.split(command), clone)


@pytest.mark.models
@pytest.mark.timeout(300)
def test_the_python_example_runs_as_printed(clone: Path) -> None:
    (source,) = blocks("python")
    output = run([sys.executable, "-c", source], clone)
    assert "What do plants need to grow? →" in output
    assert "first_audio" in output
    assert (clone / "answer.wav").stat().st_size > 10_000


def test_the_tree_of_the_readme_is_the_tree() -> None:
    named = set(re.findall(r"^ *([a-z]+)/ ", "\n".join(blocks("")), re.MULTILINE))
    for name in named:
        assert (ROOT / name).is_dir() or (ROOT / "stages" / name).is_dir(), name
    folders = {p.name for p in ROOT.iterdir() if (p / "__init__.py").exists()}
    assert folders <= named


def test_every_link_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
