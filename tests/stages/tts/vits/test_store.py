"""Parts of a voice in the model cache: kept by content, made ahead, checked, done without."""

import logging
import shutil
import sys
from pathlib import Path

import onnx
import pytest

from pipeline.config import Config, validate
from pipeline.errors import ModelError
from pipeline.models import fetch, verify
from pipeline.models.voice import split_place
from pipeline.prepare import prepare
from stages.tts.vits.cuts import NotCut
from stages.tts.vits.graphs import Style, VitsGraphs
from stages.tts.vits.store import open_graphs
from tests.stages.tts.vits.tiny import SYMBOLS, Dialect, tiny_vits, write_tiny_voice


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOXRING_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def voice(tmp_path: Path) -> Path:
    return write_tiny_voice(tmp_path)


@pytest.fixture
def told() -> list[str]:
    return []


def open_it(voice: Path, told: list[str]) -> VitsGraphs:
    return open_graphs(voice, SYMBOLS, Style(), 1, lambda text, _: told.append(text))


def forbid_splitting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stages.tts.vits.split", None)


def prepare_it(voice: Path, told: list[str], **tts: object) -> None:
    raw = {
        "turn": {"stage": "scripted"},
        "asr": {"stage": "scripted"},
        "llm": {"stage": "scripted", "model": "bytes"},
        "tts": {"model": str(voice), **tts},
    }
    prepare(validate(Config, raw, "test"), lambda text, _: told.append(text))


def test_a_split_voice_is_kept_and_needs_onnx_no_more(
    voice: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_it(voice, told)
    forbid_splitting(monkeypatch)
    open_it(voice, told)
    assert told == ["splitting the voice tiny"]


def test_it_is_found_by_what_it_holds_not_by_where_it_lies(
    voice: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_it(voice, told)
    forbid_splitting(monkeypatch)
    open_it(shutil.copy(voice, voice.with_name("other.onnx")), told)
    onnx.save(tiny_vits(Dialect(random_durations=False)), voice)
    with pytest.raises(NotCut, match="needs the package onnx"):
        open_it(voice, told)  # another voice lies there now: its parts are not those


def test_it_is_split_before_the_stage_starts(
    voice: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_it(voice, told, streaming=False)
    assert told == []
    prepare_it(voice, told)
    assert told == ["splitting the voice tiny"]
    forbid_splitting(monkeypatch)
    monkeypatch.setitem(sys.modules, "stages.tts.split_voice", None)
    prepare_it(voice, told)  # without the voice's libraries
    monkeypatch.undo()


def test_what_cannot_be_split_is_left_to_the_stage(voice: Path, told: list[str]) -> None:
    voice.write_text("no model")
    prepare_it(voice, told)
    voice.with_name("tiny.onnx.json").write_text("{")
    prepare_it(voice, told)


def test_the_parts_are_verified_and_fetched_again(voice: Path, told: list[str]) -> None:
    open_it(voice, told)
    verify(str(voice))
    part = split_place(voice) / "flow.onnx"
    whole = part.read_bytes()
    part.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    for look in (verify, lambda name: open_it(voice, told)):
        with pytest.raises(ModelError, match=r"flow\.onnx has a wrong checksum"):
            look(str(voice))
    fetch(str(voice), force=True)
    open_it(voice, told)
    verify(str(voice))
    assert told.count("splitting the voice tiny") == 2


def test_a_cache_that_cannot_be_written_is_done_without(
    voice: Path, cache: Path, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    cache.write_text("a file where a folder should be")
    prepare_it(voice, told)
    with caplog.at_level(logging.WARNING):
        assert open_it(voice, told).shape.hop
    (record,) = caplog.records
    assert record.message.startswith("tiny.onnx is split anew at every start: the model cache")
    assert record.message.endswith("or set VOXRING_CACHE to a folder elsewhere")


def test_without_room_anywhere_it_is_not_cut(
    voice: Path, cache: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("a file where a folder should be")
    monkeypatch.setattr("tempfile.tempdir", str(cache))
    with pytest.raises(NotCut, match="no room for its parts"):
        open_it(voice, told)
