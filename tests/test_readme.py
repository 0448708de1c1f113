"""The README says what is true: its commands run as printed, its pictures match the tree."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipeline import models
from tests.pipeline.cli_running import Started

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SET_UP = ["bash demos/run", "bash tests/run"]
MOST_ERRORS = 0.15  # of the words of an answer


def blocks(language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [text for kind, text in fences if kind == language]


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines()]


OTHERS = [command for command in commands() if command not in SET_UP]
EXAMPLE = "the Python example"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Started]]:
    """All that the README prints and can run, at the same time: most of it is real-time sound.

    Each in a folder in which the README's paths exist and answers may be written.
    """
    (source,) = blocks("python")
    argv = {command: shlex.split(command) for command in OTHERS}
    argv[EXAMPLE] = [sys.executable, "-c", source]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with ExitStack() as stack:
        started = {}
        for name, words in argv.items():
            folder = tmp_path_factory.mktemp("clone")
            (folder / "demos").symlink_to(ROOT / "demos")
            program = Started(words, folder, {**os.environ, "PATH": path})
            started[name] = stack.enter_context(program)
        yield started


def output(program: Started) -> str:
    """What it wrote, once it has ended well; all of them at once may be late on a busy machine."""
    finished = program.finish(240)
    errors = [line for line in finished.err.splitlines() if line.startswith("error:")]
    is_late = finished.code == 1 and errors and all("within_ms" in line for line in errors)
    assert finished.code == 0 or is_late, finished.err
    return finished.out


def words(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum() or c in " '")


def independent_transcript(wav: Path) -> str:
    """Whisper base, beam 5: another model than the pipeline's, with faster-whisper's own code."""
    from faster_whisper import WhisperModel

    model = WhisperModel(str(models.resolve("bundle:whisper-base")), cpu_threads=2)
    segments, _ = model.transcribe(str(wav), beam_size=5, language="en")
    return " ".join(segment.text for segment in segments)


def test_ci_runs_the_two_commands_that_set_everything_up() -> None:
    ci = (ROOT / ".ci" / "run").read_text().splitlines()
    assert commands()[:2] == SET_UP
    assert [line for line in ci if line in SET_UP] == SET_UP


@pytest.mark.models
@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", OTHERS)
def test_every_other_command_runs_as_printed(command: str, printed: dict[str, Started]) -> None:
    assert output(printed[command])


@pytest.mark.models
@pytest.mark.timeout(300)
def test_the_python_example_answers_the_shipped_question_aloud(printed: dict[str, Started]) -> None:
    """What is in the file is what the example says it has answered, to another ear."""
    jiwer = pytest.importorskip("jiwer")
    told = output(printed[EXAMPLE])
    question, _, rest = told.partition(" → ")
    reply, _, phases = rest.partition("\n{")
    assert words(question) == "what do plants need to grow"
    assert "first_audio" in phases
    assert len(reply.split()) >= 6
    heard = independent_transcript(printed[EXAMPLE].cwd / "answer.wav")
    assert jiwer.wer(words(reply), words(heard)) <= MOST_ERRORS


def test_the_tree_of_the_readme_is_the_tree() -> None:
    named = set(re.findall(r"^ *([a-z]+)/ ", "\n".join(blocks("")), re.MULTILINE))
    for name in named:
        places = (ROOT, ROOT / "stages", ROOT / "pipeline")
        assert any((place / name).is_dir() for place in places), name
    folders = {p.name for p in ROOT.iterdir() if (p / "__init__.py").exists()}
    assert folders <= named


def test_every_link_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
