"""Strict configuration, and errors that say where."""

import tomllib
from pathlib import Path

import pytest
import tomli_w
from pydantic import ValidationError

from pipeline.config import Config, builtin_configs, load_config, thread_budget
from pipeline.errors import ConfigError


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def refused(path: Path | None, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    return str(caught.value)


def test_laptop_is_the_default_and_shows_every_key(tmp_path: Path) -> None:
    laptop = builtin_configs()["laptop"]
    assert load_config(laptop, cores=2) == load_config(cores=2)
    exact = load_config(laptop, ["llm.quantization=none"], cores=2)
    assert exact == load_config(write(tmp_path, ""), cores=2), "the defaults, but for one key"
    shown = tomllib.loads(laptop.read_text())
    for name, section in Config().model_dump().items():
        common = {"threads", "nice", "python", "options"}
        assert set(shown[name]) == set(section) - common


@pytest.mark.parametrize("name", builtin_configs())
def test_every_builtin_configuration_is_valid(name: str) -> None:
    load_config(builtin_configs()[name])


def test_what_config_prints_can_be_read_back(tmp_path: Path) -> None:
    config = load_config(None, ["llm.max_new_tokens=7"], cores=2)
    assert load_config(write(tmp_path, tomli_w.dumps(config.model_dump())), cores=2) == config


def test_an_unknown_key_names_file_key_and_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, "[llm]\nmax_new_token = 4\n")
    message = refused(path)
    assert str(path) in message
    assert "unknown key llm.max_new_token" in message
    assert "Did you mean llm.max_new_tokens?" in message


def test_an_unknown_section_lists_the_valid_ones(tmp_path: Path) -> None:
    assert "Did you mean asr?" in refused(write(tmp_path, "[asrr]\n"))
    assert "pipeline, audio, turn, asr, llm, tts" in refused(write(tmp_path, "[zzzzz]\n"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[turn]\nthreshold = "high"\n', "turn.threshold is 'high'"),
        ("[turn]\nthreshold = 1.5\n", "turn.threshold is 1.5"),
        ("[pipeline]\nlanes = 0\n", "pipeline.lanes is 0"),
        ('[llm]\ndtype = "int3"\n', "llm.dtype is 'int3'"),
        ("[llm]\nmax_new_tokens = true\n", "llm.max_new_tokens is True"),
    ],
)
def test_a_wrong_value_names_the_key_and_the_value(tmp_path: Path, text: str, key: str) -> None:
    assert key in refused(write(tmp_path, text))


def test_a_file_that_is_missing_or_broken(tmp_path: Path) -> None:
    assert "Built-in ones are: edge, laptop" in refused(tmp_path / "none.toml")
    assert "is not TOML: " in refused(write(tmp_path, "[llm"))
    assert "cannot be read: Is a directory" in refused(tmp_path)


def test_overrides() -> None:
    config = load_config(None, ["llm.max_new_tokens=40", "tts.speed=1.5", "llm.system=Be brief"])
    assert (config.llm.max_new_tokens, config.tts.speed) == (40, 1.5)
    assert config.llm.system == "Be brief"


@pytest.mark.parametrize("override", ["llm.max_new_tokens", "=3", ".x=3"])
def test_an_override_of_the_wrong_form(override: str) -> None:
    assert "section.key=value" in refused(None, override)


def test_an_unknown_override_says_so() -> None:
    assert "the defaults with --set: unknown key tts.sped" in refused(None, "tts.sped=2")


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Config().llm.seed = 3  # type: ignore[misc]


@pytest.mark.parametrize("cores", [1, 2, 4, 16])
def test_stages_that_work_at_the_same_time_share_the_cores(cores: int) -> None:
    budget = thread_budget(cores)
    assert budget["asr"] == max(1, cores // 2)
    assert budget["llm"] + budget["tts"] == max(2, cores)
    assert load_config(cores=cores).llm.threads == budget["llm"]
    assert load_config(None, ["llm.threads=3"], cores=cores).llm.threads == 3
