"""Flags of `voxring talk` are short names of keys."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.commands.talk import _as_overrides, _device, _languages, _live, _text
from pipeline.config import load_config
from pipeline.errors import ConfigError

texts = st.text(st.characters(codec="utf-8"), max_size=40)


@given(texts, texts, st.floats(0.25, 4))
def test_whatever_was_given_arrives(system: str, folder: str, speed: float) -> None:
    flags = {
        "llm.system": system,
        "pipeline.transcripts": folder,
        "tts.speed": speed,
        "asr.languages": _languages("en, de"),
        "audio.input": _device("3"),
        "audio.output": _device("3 USB"),
        "tts.model": None,
    }
    config = load_config(overrides=_as_overrides(flags))
    assert config.llm.system == system
    assert config.pipeline.transcripts == folder
    assert config.tts.speed == speed
    assert config.asr.languages == ["en", "de"]
    assert (config.audio.input, config.audio.output) == (3, "3 USB")
    assert config.tts.model == load_config().tts.model


def test_a_flag_counts_more_than_set() -> None:
    overrides = ["tts.speed=2.0", *_as_overrides({"tts.speed": 1.5})]
    assert load_config(overrides=overrides).tts.speed == 1.5


def test_any_language_is_no_list() -> None:
    assert _languages("any") == []
    assert _languages("en") == ["en"]


def test_a_prompt_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("Be brief.\nBe kind.\n", encoding="utf-8")
    assert _text(f"@{path}") == "Be brief.\nBe kind."
    assert _text("Be brief.") == "Be brief."
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="no UTF-8"):
        _text(f"@{path}")
    with pytest.raises(ConfigError, match="Is a directory"):
        _text(f"@{tmp_path}")


@pytest.mark.parametrize(
    ("stage", "has_clips", "edge"),
    [
        ("file", False, "device"),
        ("client", False, "device"),
        ("device", False, "device"),
        ("my_package:Radio", False, "my_package:Radio"),
        ("device", True, "file"),
    ],
)
def test_the_edge_is_one_that_hears_somebody(stage: str, has_clips: bool, edge: str) -> None:
    config = load_config(overrides=[f'audio.stage="{stage}"'])
    assert _live(config, has_clips=has_clips).audio.stage == edge
