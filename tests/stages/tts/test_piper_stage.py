"""The Piper stage with a tiny voice: what is split, what is not, and what is refused."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from pipeline.config import Config, validate
from pipeline.errors import ConfigError, ModelError
from pipeline.models import silero_vad_path
from stages.lane import Lane
from stages.stage import Host
from stages.tts.clausewise import ClausewiseUtterance
from stages.tts.piper import PiperTts
from stages.tts.streaming import StreamingUtterance
from stages.tts.utterance import Utterance
from tests.stages.tts.test_stages import sound_of
from tests.stages.tts.vits.tiny import Dialect, tiny_vits, write_tiny_voice

MakeLane = Callable[[str], Lane]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXRING_CACHE", str(tmp_path / "cache"))


def load(voice: Path, **tts: object) -> PiperTts:
    raw = {"tts": {"threads": 1, "model": str(voice), **tts}, "llm": {"model": "bytes"}}
    config = validate(Config, raw, "test")
    stage = PiperTts(Host(config, config.tts, lambda: 0, lambda text, fraction: None))
    stage.load()
    return stage


def say(utterance: Utterance, text: str) -> np.ndarray:
    for position, id in enumerate(text.encode()):
        utterance.feed(id, position)
    utterance.end(complete=True)
    sounds = [np.zeros(0, np.int16)]
    while sound := utterance.more():
        sounds.append(sound.samples)
    return np.concatenate(sounds)


def test_a_voice_that_can_be_split_is_streamed(tmp_path: Path) -> None:
    stage = load(write_tiny_voice(tmp_path))
    utterance = stage.begin()
    assert isinstance(utterance, StreamingUtterance)
    assert len(say(utterance, "abc def, bad cab.")) > 0


def test_streaming_can_be_switched_off(tmp_path: Path) -> None:
    assert isinstance(
        load(write_tiny_voice(tmp_path), streaming=False).begin(), ClausewiseUtterance
    )


def test_a_voice_that_cannot_is_spoken_clause_by_clause_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    voice = write_tiny_voice(tmp_path)
    model = tiny_vits(Dialect())
    for node in model.graph.node:
        if node.op_type == "Ceil":
            node.op_type = "Round"
    onnx.save(model, voice)
    with caplog.at_level(logging.WARNING):
        stage = load(voice)
        for _ in range(3):
            assert len(say(stage.begin(), "abc def.")) > 0
    told = [record.message for record in caplog.records if "clause" in record.message]
    reason = "expected one Ceil, of the durations, found 0"
    assert told == [f"tiny.onnx is spoken clause by clause: {reason}"]


def test_an_interrupted_reply_leaves_nothing_behind(tmp_path: Path) -> None:
    stage = load(write_tiny_voice(tmp_path))
    fresh = say(stage.begin(), "cab bed.")
    cut = stage.begin()
    for position, id in enumerate(b"abc def bad c"):
        cut.feed(id, position)
    cut.more()
    assert np.array_equal(say(stage.begin(), "cab bed."), fresh)


ODD = ["", "...", "?!", "🙂", "\x00\x07\x1b", "\n" * 50, "``` x", "abcdef" * 300]


@pytest.mark.parametrize("text", [*ODD, "abc 한국어 好 где"])
def test_any_reply_is_survived_and_the_next_turn_works(
    tmp_path: Path, make_lane: MakeLane, text: str
) -> None:
    stage = load(write_tiny_voice(tmp_path))
    sound_of(stage, make_lane, list(text.encode())[:200])
    assert len(say(stage.begin(), "abc.")) > 0


def test_speakers_and_speed_are_the_configurations(tmp_path: Path) -> None:
    voice = write_tiny_voice(tmp_path, Dialect(speakers=3))
    plain = say(load(voice).begin(), "abc def.")
    assert not np.array_equal(say(load(voice, speaker=2).begin(), "abc def."), plain)
    assert len(say(load(voice, speed=3.0).begin(), "abc def.")) < len(plain)
    loud = say(load(voice, volume=0.5).begin(), "abc def.")
    assert np.abs(loud).max() < np.abs(plain).max()
    with pytest.raises(ConfigError, match="no speaker 3; it has 3, named: s0, s1, s2"):
        load(voice, speaker=3)


@pytest.mark.parametrize("content", ["{", "[]", '{"audio": 3}'])
def test_a_broken_json_is_named(tmp_path: Path, content: str) -> None:
    voice = write_tiny_voice(tmp_path)
    voice.with_name("tiny.onnx.json").write_text(content)
    with pytest.raises(ModelError, match="not the JSON of a Piper voice"):
        load(voice)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"num_symbols": "x"}, "num_symbols is 'x'"),
        ({"num_speakers": None}, "num_speakers is None"),
        ({"audio": {"sample_rate": 0}}, "sample_rate is 0"),
        ({"phoneme_id_map": {}}, "phoneme_id_map is {}"),
        ({"phoneme_id_map": {"a": 1}}, r"phoneme_id_map\.a is 1"),
        ({"phoneme_id_map": [1]}, r"phoneme_id_map is \[1\]"),
        ({"speaker_id_map": 3}, "speaker_id_map is 3"),
        ({"inference": {"length_scale": 0}}, "length_scale is 0"),
        ({"inference": {"noise_scale": "x"}}, "noise_scale is 'x'"),
        ({"inference": {"noise_w": -1}}, "noise_w_scale is -1"),
    ],
)
def test_a_value_that_cannot_be_is_named(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    voice = write_tiny_voice(tmp_path)
    path = voice.with_name("tiny.onnx.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelError, match=f"not the JSON of a Piper voice: {named}: "):
        load(voice)


@pytest.mark.parametrize(
    ("content", "named"),
    [(b"no model", "cannot be loaded"), (silero_vad_path().read_bytes(), "is not a Piper voice")],
    ids=["text", "another model"],
)
def test_a_file_that_is_no_voice_is_named(tmp_path: Path, content: bytes, named: str) -> None:
    voice = write_tiny_voice(tmp_path)
    voice.write_bytes(content)
    with pytest.raises(ModelError, match=named):
        load(voice)


def test_another_graph_that_calls_itself_a_voice_is_named(tmp_path: Path) -> None:
    voice = write_tiny_voice(tmp_path)
    model = tiny_vits(Dialect())
    for tensor in model.graph.input:
        tensor.name = f"other_{tensor.name}"
    for node in model.graph.node:
        names = ("input", "input_lengths", "scales")
        node.input[:] = [f"other_{name}" if name in names else name for name in node.input]
    onnx.save(model, voice)
    with pytest.raises(ModelError, match="is not a Piper voice: it takes"):
        load(voice)
