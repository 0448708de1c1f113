"""Latency tests in a repository of one's own: the example of docs/lab.md."""

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.pipeline.cli_running import QUESTION

pytest_plugins = ["pytester"]
PLUGIN = "pipeline.lab.plugin"
SCRIPTED_FILE = Path(__file__).parents[3] / "configs" / "scripted.toml"
DOCS = Path(__file__).parents[3] / "docs" / "lab.md"


def arguments() -> list[str]:
    """How to load it where this checkout was not installed with its entry point."""
    installed = any(each.value == PLUGIN for each in entry_points(group="pytest11"))
    return [] if installed else ["-p", PLUGIN]


def test_the_example_of_the_documentation(pytester: pytest.Pytester) -> None:
    (example,) = re.findall(r"```python\n(# test_latency\.py\n.*?)```", DOCS.read_text(), re.DOTALL)
    (suite,) = re.findall(r"```toml\n(# suite\.toml\n.*?)```", DOCS.read_text(), re.DOTALL)
    pytester.makepyfile(test_latency=example)
    soon = suite.replace("repeats = 2", "repeats = 1").replace("cold = 1", "cold = 0")
    pytester.path.joinpath("suite.toml").write_text(soon)
    pytester.path.joinpath("question.wav").write_bytes(QUESTION.read_bytes())
    scripted = (
        "--voxring-config=scripted",
        "--voxring-set=asr.options={lines = ['What do plants need to grow?']}",
        "--voxring-set=llm.options={replies = ['Plants need water.'], ids_per_s = 1000}",
    )
    pytester.runpytest_subprocess(*arguments(), *scripted, timeout=90).assert_outcomes(passed=2)


def test_a_miss_is_shown_with_its_reason(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("question.wav").write_bytes(QUESTION.read_bytes())
    pytester.makepyfile(
        """
        def test_it(voxring):
            assert voxring.ask("question.wav", speech_end_s=1.86, within_ms=1).failures == []

        def test_a_wrong_key(voxring):
            voxring.ask("question.wav", within=1)
        """
    )
    pytester.makeini("[pytest]\nvoxring_config = scripted\n")
    result = pytester.runpytest_subprocess(*arguments(), timeout=90)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*question: within_ms: first audio: p95 of 1 is * expected within 1;*"]
    )
    result.stdout.fnmatch_lines(["*unknown key clip.0.within. Did you mean clip.0.within_ms?*"])


@pytest.mark.parametrize("by", ["option", "file"])
def test_a_configuration_is_relative_to_what_names_it(pytester: pytest.Pytester, by: str) -> None:
    """It was looked for beside each test, and beside each suite."""
    pytester.path.joinpath("tests").mkdir()
    pytester.path.joinpath("conf").mkdir()
    pytester.path.joinpath("conf", "mine.toml").write_bytes(SCRIPTED_FILE.read_bytes())
    pytester.path.joinpath("tests", "question.wav").write_bytes(QUESTION.read_bytes())
    pytester.path.joinpath("tests", "test_it.py").write_text(
        "def test_it(voxring):\n"
        "    assert voxring.ask('question.wav', speech_end_s=1.86).failures == []\n"
    )
    if by == "file":
        pytester.makeini("[pytest]\nvoxring_config = conf/mine.toml\n")
    option = ["--voxring-config=conf/mine.toml"] if by == "option" else []
    result = pytester.runpytest_subprocess(*arguments(), *option, "tests", timeout=90)
    result.assert_outcomes(passed=1)


def test_a_pipeline_that_broke_is_replaced_for_the_next_test(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("question.wav").write_bytes(QUESTION.read_bytes())
    pytester.makepyfile(
        """
        import os
        import signal

        import pytest

        from pipeline import VoxringError

        def test_it_breaks(voxring, voxring_players):
            voxring.ask("question.wav", speech_end_s=1.86)
            os.kill(voxring_players._kept.pids["tts"], signal.SIGKILL)
            with pytest.raises(VoxringError):
                voxring.ask("question.wav", speech_end_s=1.86)

        def test_it_goes_on(voxring):
            assert voxring.ask("question.wav", speech_end_s=1.86).failures == []
        """
    )
    once = ["--voxring-config=scripted", "--voxring-set=pipeline.restarts=0"]
    pytester.runpytest_subprocess(*arguments(), *once, timeout=90).assert_outcomes(passed=2)


def test_nothing_is_imported_until_a_test_asks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it():
            assert "pipeline.lab.fixture" not in sys.modules
            assert "soundfile" not in sys.modules
        """
    )
    pytester.runpytest_subprocess(*arguments(), timeout=60).assert_outcomes(passed=1)
