"""Noise that is mixed in, and where speech is in a clip."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.errors import ConfigError
from pipeline.lab.mix import TAIL_S, Said, prepare
from pipeline.lab.suite import Conversation
from tests.pipeline.running import tone

RATE = 16_000


def prepared(folder: Path, **say: object) -> Said:
    raw = {"name": "c", "turn": [{"file": "clip.wav", **say}]}
    work = folder / "work"
    work.mkdir(exist_ok=True)
    (said,) = prepare(Conversation.model_validate(raw), folder, work)
    return said


def speech(folder: Path) -> None:
    """Half a second of silence, a second of a voice-like tone, half a second of silence."""
    tone(folder / "voice.wav", 1.0)
    voice, _ = soundfile.read(folder / "voice.wav")
    quiet = np.full(RATE // 2, 1e-4)
    soundfile.write(folder / "clip.wav", np.concatenate((quiet, voice, quiet)), RATE)


def level(sound: np.ndarray) -> float:
    return float(20 * np.log10(np.sqrt(np.mean(np.square(sound, dtype=np.float64)))))


def test_a_clip_as_it_is_is_played_from_its_own_file(tmp_path: Path) -> None:
    speech(tmp_path)
    said = prepared(tmp_path)
    assert said.path == tmp_path / "clip.wav"
    assert said.speech_start_s == pytest.approx(0.5, abs=0.06)
    assert said.speech_end_s == pytest.approx(1.5, abs=0.06)
    assert said.speech_end_source == "energy"


@pytest.mark.parametrize("snr_db", [0, 10, 20])
@pytest.mark.parametrize("noise", ["", "noise.flac"])
def test_noise_is_as_far_below_the_speech_as_was_asked(
    snr_db: int, noise: str, tmp_path: Path
) -> None:
    speech(tmp_path)
    random = np.random.default_rng(1)
    soundfile.write(tmp_path / "noise.flac", 0.02 * random.standard_normal(5000), 8_000)
    said = prepared(tmp_path, noise=noise, noise_snr_db=snr_db, speech_end_s=1.5)
    mixed, rate = soundfile.read(said.path)
    assert rate == RATE
    before, during = mixed[: RATE // 3], mixed[RATE * 2 // 3 : RATE]
    clean = 10 * np.log10(10 ** (level(during) / 10) - 10 ** (level(before) / 10))
    assert clean - level(before) == pytest.approx(snr_db, abs=1.0)


def test_noise_goes_on_behind_the_speech_and_is_the_same_in_every_run(tmp_path: Path) -> None:
    speech(tmp_path)
    said = prepared(tmp_path, noise_snr_db=10, speech_end_s=1.5)
    first = said.path.read_bytes()
    assert said.duration_s == pytest.approx(1.5 + TAIL_S)
    said.path.unlink()
    assert prepared(tmp_path, noise_snr_db=10, speech_end_s=1.5).path.read_bytes() == first


def test_a_mix_that_would_be_too_loud_is_softer_and_not_clipped(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "clip.wav", 0.95 * np.sin(np.arange(RATE) / 9), RATE)
    said = prepared(tmp_path, noise_snr_db=-10, speech_end_s=1.0)
    mixed, _ = soundfile.read(said.path, dtype="int16")
    assert np.count_nonzero(np.abs(mixed.astype(int)) >= 32767) <= 2


@pytest.mark.parametrize(
    ("say", "complaint"),
    [
        ({"file": "none.wav"}, "c: .*none.wav does not exist"),
        ({"noise": "none.wav", "noise_snr_db": 10}, "c: noise: .*none.wav does not exist"),
        ({"speech_end_s": 9.0}, "speech_end_s is 9, behind the end of the clip at 2.00 s"),
        ({"file": "silence.wav", "noise_snr_db": 10}, "nothing is said in the clip"),
    ],
)
def test_mistakes_name_the_turn(say: dict[str, object], complaint: str, tmp_path: Path) -> None:
    speech(tmp_path)
    soundfile.write(tmp_path / "silence.wav", np.zeros(RATE), RATE)
    with pytest.raises(ConfigError, match=complaint):
        prepared(tmp_path, **say)


def test_the_manifest_beside_a_clip_tells_of_it_and_the_suite_knows_better(tmp_path: Path) -> None:
    speech(tmp_path)
    note = '[[clip]]\nfile = "clip.wav"\ntext = "hello"\nspeech_end_s = 1.4\n'
    (tmp_path / "manifest.toml").write_text(note)
    said = prepared(tmp_path)
    assert (said.text, said.speech_end_s, said.speech_end_source) == ("hello", 1.4, "manifest")
    assert prepared(tmp_path, text="bye", speech_end_s=1.3).text == "bye"
