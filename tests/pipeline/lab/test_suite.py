"""Suites as people write them, and what is told of one that is wrong."""

import re
from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.lab.mix import prepare
from pipeline.lab.suite import distinct, read_suite, suite_of

DEMOS = Path(__file__).parents[3] / "demos"
EXAMPLE = """
repeats = 2
[defaults]
within_ms = 500
[[clip]]
file = "a.wav"
[[clip]]
file = "a.wav"
within_ms = 900
[[conversation]]
name = "two"
[[conversation.turn]]
file = "a.wav"
[[conversation.turn]]
file = "b.wav"
over_answer_ms = 800
silent_within_ms = 300
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "suite.toml"
    path.write_text(text)
    return path


def test_clips_are_conversations_of_one_turn_and_every_turn_has_a_name_of_its_own(
    tmp_path: Path,
) -> None:
    suite = read_suite(write(tmp_path, EXAMPLE))
    assert suite.name == "suite"
    assert [each.name for each in suite.conversations] == ["a", "a.2", "two"]
    assert [each.keys for each in suite.conversations] == [["a"], ["a.2"], ["two/a", "two/b"]]


def test_defaults_hold_where_nothing_else_is_said(tmp_path: Path) -> None:
    suite = read_suite(write(tmp_path, EXAMPLE))
    bounds = [say.within_ms for each in suite.conversations for say in each.turn]
    assert bounds == [500, 900, 500, 500]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "has nothing to say. Add a [[clip]] with a file"),
        ("[[clip]", "is not TOML"),
        ("[[clip]]\nname = 'x'", "clip.0.file is missing"),
        (
            "[[clip]]\nfile = 'a.wav'\nwithin = 5",
            "unknown key clip.0.within. Did you mean clip.0.within_ms?",
        ),
        ("[[clip]]\nfile = 'a.wav'\nwithin_ms = 0", "clip.0.within_ms"),
        ("[[clip]]\nfile = 'a.wav'\nwithin_ms = '5'", "clip.0.within_ms"),
        ("[[clip]]\nfile = 'a.wav'\noutcome = 'fine'", "clip.0.outcome"),
        ("[[clip]]\nfile = 'a.wav'\nmatch = '('", "match is no regular expression"),
        ("[[clip]]\nfile = 'a.wav'\nnoise = 'n.wav'", "noise needs noise_snr_db"),
        ("[[clip]]\nfile = 'a.wav'\ngoes_on = true", "need over_answer_ms"),
        ("[[clip]]\nfile = 'a.wav'\nover_answer_ms = 5", "there is no answer before it"),
        ("[[conversation]]\nname = 'x'\nturn = []", "conversation.0.turn"),
        ("repeats = 0\n[[clip]]\nfile = 'a.wav'", "repeats"),
        ("defaults = 1\n[[clip]]\nfile = 'a.wav'", "defaults"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_file_and_key(
    text: str, complaint: str, tmp_path: Path
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=re.escape(complaint)) as error:
        read_suite(path)
    assert str(path) in str(error.value)


def test_a_suite_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no suite"):
        read_suite(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_suite(tmp_path)


def test_clips_alone_are_a_suite_without_expectations() -> None:
    suite = suite_of([Path("a.wav"), Path("b/a.wav")], repeats=3, cold=0)
    assert (suite.repeats, suite.cold, suite.name) == (3, 0, "a.wav, a.wav")
    assert [each.name for each in suite.conversations] == ["a", "a.2"]


def test_names_are_told_apart() -> None:
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a.2", "a.3"]


def test_the_suite_of_the_readme_has_all_its_clips(tmp_path: Path) -> None:
    suite = read_suite(DEMOS / "suite.toml")
    said = [clip for each in suite.conversations for clip in prepare(each, DEMOS, tmp_path)]
    assert [clip.key for clip in said] == [
        "question",
        "question in noise",
        "interrupted/first",
        "interrupted/over it",
    ]
    assert {clip.speech_end_s for clip in said} == {1.86}
    assert {clip.text for clip in said} == {"What do plants need to grow?"}
