from pathlib import Path

import pytest

from pipeline.errors import ModelError
from pipeline.models.reference import Reference, Source, parse

BUNDLES = ["whisper-tiny.en", "piper-joe-medium"]


@pytest.mark.parametrize(
    ("text", "source", "name"),
    [
        ("bundle:whisper-tiny.en", Source.BUNDLE, "whisper-tiny.en"),
        ("whisper-tiny.en", Source.BUNDLE, "whisper-tiny.en"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", Source.HUB, "HuggingFaceTB/SmolLM2-135M-Instruct"),
    ],
)
def test_each_spelling(text: str, source: Source, name: str) -> None:
    assert parse(text, BUNDLES) == Reference(source, name)


def test_an_existing_path_wins_over_a_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert parse(str(tmp_path), BUNDLES) == Reference(Source.PATH, str(tmp_path))
    assert parse("org/name", BUNDLES).source is Source.HUB
    monkeypatch.chdir(tmp_path)
    assert parse("org/name", BUNDLES).source is Source.PATH


def test_a_home_folder_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "m").mkdir()
    assert parse("~/m", BUNDLES) == Reference(Source.PATH, "~/m")


def test_a_bundle_name_means_the_bundle_whatever_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whisper-tiny.en").mkdir()
    assert parse("whisper-tiny.en", BUNDLES).source is Source.BUNDLE
    assert parse("./whisper-tiny.en", BUNDLES).source is Source.PATH


def test_an_unknown_bundle_suggests_the_nearest() -> None:
    with pytest.raises(ModelError, match="no model 'bundle:wisper-tiny'") as caught:
        parse("bundle:wisper-tiny", BUNDLES)
    assert caught.value.remedy == "Did you mean 'bundle:whisper-tiny.en'?"


@pytest.mark.parametrize("text", ["", "bundle:", "zzz", "/no/such/path", "a/b/c", "../a/b"])
def test_what_is_nothing_lists_the_bundles(text: str) -> None:
    with pytest.raises(ModelError, match=f"no model '{text}'") as caught:
        parse(text, BUNDLES)
    assert caught.value.remedy == "Known bundles: whisper-tiny.en, piper-joe-medium"
