import json
import logging
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.errors import ConfigError, ModelError
from pipeline.models import resolve
from stages.tts.piper_model import PiperModel, VoiceSettings, find_voice
from stages.tts.piper_voice import PiperVoice
from stages.tts.sound import FLOOR
from stages.tts.speller import Speller


class FakePiper:
    """As `piper.PiperVoice`, with a phoneme a letter."""

    def __init__(self, speakers: int = 1) -> None:
        self.config = SimpleNamespace(
            sample_rate=1000,
            length_scale=1.0,
            noise_scale=0.667,
            noise_w_scale=0.8,
            num_symbols=100,
            num_speakers=speakers,
            speaker_id_map={},
            phoneme_id_map={"a": [1], "b": [2], ".": [3], "x": [100]},
        )

    def phonemize(self, text: str) -> list[list[str]]:
        return [list(sentence) for sentence in text.split("|")]

    def phonemes_to_ids(self, phonemes: list[str]) -> list[int]:
        return [id for phoneme in phonemes for id in self.config.phoneme_id_map[phoneme]]


class FakeSession:
    """A second of sound, loud in its middle."""

    def __init__(self) -> None:
        self.asked: list[dict[str, np.ndarray]] = []

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name) for name in ("input", "input_lengths", "scales", "sid")]

    def run(self, outputs: None, given: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.asked.append(given)
        sound = np.zeros((1, 1, 1000), np.float32)
        sound[..., 400:600] = 0.5
        return [sound]


def fake(session: FakeSession | None = None, speakers: int = 1, **settings: float) -> PiperVoice:
    voice = FakePiper(speakers)
    chosen = VoiceSettings(**settings)  # type: ignore[arg-type]
    model = PiperModel(Path("fake.onnx"), voice.config, Speller(voice), chosen)
    return PiperVoice(model, session or FakeSession())


def test_silence_around_a_clause_is_dropped() -> None:
    sound = fake().synthesise("ab.")
    assert 200 <= len(sound) <= 260
    assert sound.max() == round(0.5 * 32767)


def test_two_sentences_of_one_clause_rest_between() -> None:
    assert len(fake().synthesise("ab.|ab.")) == 2 * len(fake().synthesise("ab.")) + 100


def test_settings_reach_the_graph() -> None:
    session = FakeSession()
    sound = fake(session, speakers=4, speed=2.0, noise=0.1, volume=0.5, speaker=3).synthesise("ab")
    assert session.asked[0]["scales"].tolist() == pytest.approx([0.1, 0.5, 0.8])
    assert session.asked[0]["sid"].tolist() == [3]
    assert sound.max() == round(0.25 * 32767)


@pytest.mark.parametrize("text", ["", ".", "ʤ", "x"])
def test_what_the_voice_cannot_say_gives_no_samples(text: str) -> None:
    session = FakeSession()
    sound = fake(session).synthesise(text)
    assert sound.dtype == np.int16
    assert len(sound) == 0
    assert session.asked == []


def test_unknown_symbols_and_ids_outside_the_table_are_skipped_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Fault 15."""
    session = FakeSession()
    voice = fake(session)
    with caplog.at_level(logging.WARNING):
        voice.synthesise("aʤxb")
        voice.synthesise("aʤxb")
    assert [given["input"].tolist() for given in session.asked] == [[[1, 2]]] * 2
    assert len(caplog.records) == 2  # one for each symbol


def test_an_unknown_speaker_is_named() -> None:
    with pytest.raises(ConfigError, match="no speaker 3; it has 2"):
        fake(speakers=2, speaker=3)


def load(path: Path, settings: VoiceSettings | None = None) -> PiperVoice:
    return PiperVoice.load(PiperModel.load(path, settings or VoiceSettings()))


def test_a_voice_without_its_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"voice\.onnx\.json does not exist"):
        load(tmp_path / "voice.onnx")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"audio": 3}', b"\xff"])
def test_a_broken_json_is_named(tmp_path: Path, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "voice.onnx.json").write_bytes(data)
    with pytest.raises(ModelError, match="not the JSON of a Piper voice") as caught:
        load(tmp_path / "voice.onnx")
    assert "Piper voice" in caught.value.remedy


PIPER_JSON = {
    "num_symbols": 256,
    "num_speakers": 1,
    "audio": {"sample_rate": 22050},
    "espeak": {"voice": "en-us"},
    "phoneme_id_map": {"a": [14]},
}


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "voice.onnx.json").write_text(json.dumps(PIPER_JSON))
    with pytest.raises(ModelError, match=r"voice\.onnx does not exist"):
        load(tmp_path / "voice.onnx")
    (tmp_path / "voice.onnx").write_text("no model")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(tmp_path / "voice.onnx")


def test_a_model_of_another_kind_is_named(tmp_path: Path) -> None:
    from pipeline.models import silero_vad_path

    (tmp_path / "voice.onnx.json").write_text(json.dumps(PIPER_JSON))
    (tmp_path / "voice.onnx").write_bytes(silero_vad_path().read_bytes())
    with pytest.raises(ModelError, match="not a Piper voice"):
        load(tmp_path / "voice.onnx")


def test_piper_that_is_not_installed_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "piper", None)
    with pytest.raises(ModelError) as caught:
        load(tmp_path / "voice.onnx")
    assert caught.value.remedy == "pip install 'voxring[local]'"


def test_a_folder_with_one_voice_is_that_voice(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"holds 0 \.onnx files"):
        find_voice(tmp_path)
    voice = tmp_path / "joe.onnx"
    voice.touch()
    assert find_voice(tmp_path) == find_voice(voice) == voice
    (tmp_path / "amy.onnx").touch()
    with pytest.raises(ModelError, match=r"holds 2 \.onnx files"):
        find_voice(tmp_path)


@pytest.fixture(scope="module")
def joe() -> PiperVoice:
    path = find_voice(resolve("bundle:piper-joe-medium"))
    return load(path, VoiceSettings(noise=0.0, noise_w=0.0))


@pytest.mark.models
def test_joe_speaks_without_silence_around_it(joe: PiperVoice) -> None:
    sound = joe.synthesise("The capital of France is Paris.")
    assert joe.rate == 22_050
    assert 1.3 <= len(sound) / joe.rate <= 2.3
    start = sound[: joe.rate // 40].astype(np.float64) / 32768
    assert np.sqrt(np.mean(start**2)) >= FLOOR


@pytest.mark.models
def test_joes_clauses_join_without_a_click(joe: PiperVoice) -> None:
    one, two = (joe.synthesise(text) for text in ("The capital of France", "is the city of Paris."))
    inside = max(int(np.abs(np.diff(clause.astype(np.int32))).max()) for clause in (one, two))
    seam = np.concatenate([one[-5:], two[:5]]).astype(np.int32)
    assert np.abs(np.diff(seam)).max() <= inside / 10
    assert one[0] == one[-1] == two[0] == two[-1] == 0


@pytest.mark.models
@pytest.mark.parametrize("text", ["", "...", " ", "\n"])
def test_joe_says_nothing_of_nothing(joe: PiperVoice, text: str) -> None:
    assert len(joe.synthesise(text)) == 0


@pytest.mark.models
@pytest.mark.parametrize("text", ["x" * 200, "한국어", "今天天气真好。", "Привет, a мир", "!?,;:."])
def test_joe_survives_any_text(joe: PiperVoice, text: str) -> None:
    assert joe.synthesise(text).dtype == np.int16


@pytest.mark.models
def test_speed_shortens() -> None:
    path = find_voice(resolve("bundle:piper-joe-medium"))
    fast = load(path, VoiceSettings(speed=2.0, noise=0.0, noise_w=0.0))
    slow = load(path, VoiceSettings(noise=0.0, noise_w=0.0))
    text = "A fast fox runs over the hill."
    assert 0.4 <= len(fast.synthesise(text)) / len(slow.synthesise(text)) <= 0.65
