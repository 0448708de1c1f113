import re
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.errors import ModelError
from pipeline.models import resolve
from stages.asr.guards import SECOND_OPINIONS, Decode
from stages.asr.listener import transcribe
from stages.asr.log_mel import LogMel
from stages.asr.whisper import Whisper
from stages.asr.window import FULL, window_for
from stages.audio.clip import load_clip
from stages.audio.convert import convert
from stages.audio.manifest import find_note

RATE = 16_000
SPOKEN = [
    "dog-or-cat.mp3",
    "seine.mp3",
    "cars.wav",
    "cutter.flac",
    "concord.flac",
    "modern.wav",
    "reader.flac",
    "proof.wav",
    "jfk.flac",
]


@pytest.fixture(scope="module")
def tiny() -> Whisper:
    return Whisper(resolve("bundle:whisper-tiny.en"), threads=2)


@pytest.fixture(scope="module")
def base() -> Whisper:
    return Whisper(resolve("bundle:whisper-base"), threads=2)


def samples_of(path: Path) -> NDArray[np.int16]:
    clip = load_clip(path)
    return convert(clip.samples, clip.rate)


def errors(said: str, heard: str) -> tuple[int, int]:
    """Wrong words and words said, case and punctuation aside."""
    said, heard = (" ".join(re.sub(r"[^\w']", " ", text.lower()).split()) for text in (said, heard))
    out = jiwer.process_words(said, heard)
    return out.substitutions + out.deletions + out.insertions, len(said.split())


def noises() -> dict[str, NDArray[np.int16]]:
    random = np.random.default_rng(1)
    time = np.arange(4 * RATE) / RATE
    white = random.normal(0, 1, time.size)
    chord = sum(np.sin(2 * np.pi * f * time) for f in (262, 330, 392)) * np.exp(-2 * (time % 1))
    every = {
        "faint noise": 0.0018 * white,
        "white noise": 0.1 * white,
        "hum": 0.1 * np.sin(2 * np.pi * 50 * time) + 0.03 * np.sin(2 * np.pi * 150 * time),
        "tone": 0.2 * np.sin(2 * np.pi * 440 * time),
        "chords": 0.1 * chord,
        "clicks": np.where(np.arange(time.size) % 8000 < 10, 0.8, 0.0),
        "offset": np.full(time.size, 0.1),
        "overload": 0.9 * np.sign(white),
    }
    return {name: (np.clip(sound, -1, 1) * 32767).astype(np.int16) for name, sound in every.items()}


@pytest.mark.models
def test_recorded_speech_is_understood(tiny: Whisper, recordings: Path) -> None:
    wrong = words = 0
    for file in SPOKEN:
        note = find_note(recordings / file)
        assert note is not None
        one = errors(note.text, transcribe(tiny, samples_of(recordings / file)).text)
        wrong, words = wrong + one[0], words + one[1]
    # faster-whisper's own transcribe (30 s window, beam 1) has 5 of 156 on these
    assert wrong <= 5, f"{wrong} of {words} words"


@pytest.mark.models
def test_a_multilingual_model_finds_the_language(base: Whisper, recordings: Path) -> None:
    transcript = transcribe(base, samples_of(recordings / "dog-or-cat.mp3"))
    assert (transcript.text, transcript.language) == ("Should I get a dog or a cat?", "en")


@pytest.mark.models
def test_the_transcript_says_how_it_was_made(tiny: Whisper, recordings: Path) -> None:
    transcript = transcribe(tiny, samples_of(recordings / "cars.wav"))
    assert transcript.text == "How many cars are there in the picture?"
    assert transcript.window_s == 8
    assert transcript.avg_logprob > -0.5
    assert transcript.no_speech_prob < 0.5
    assert len(transcript.words) == 8


@pytest.mark.models
def test_a_decode_may_be_as_long_as_it_is_said_to_be(
    tiny: Whisper, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = samples_of(recordings / "proof.wav").astype(np.float32) / 32768
    mel = LogMel(tiny.filters)
    mel.append(sound)
    encoded = tiny.encode(mel.window(sound.size, 17 * RATE))
    assert len(tiny.generate(encoded, sound.size, 17 * RATE).ids) > 50
    monkeypatch.setattr("stages.asr.whisper.most_ids", lambda samples: 20)
    decode = tiny.generate(encoded, sound.size, 17 * RATE)
    assert (len(decode.ids), decode.capped) == (20, True)


@pytest.mark.models
@pytest.mark.parametrize("length", [0, 1, 160, 3 * RATE, 31 * RATE])
def test_digital_silence_is_nothing(tiny: Whisper, base: Whisper, length: int) -> None:
    assert transcribe(tiny, np.zeros(length, np.int16)).empty
    assert transcribe(base, np.zeros(length, np.int16)).empty  # language unset


@pytest.mark.models
@pytest.mark.parametrize("name", noises())
def test_noise_is_nothing(tiny: Whisper, name: str) -> None:
    assert transcribe(tiny, noises()[name]).text == ""


@pytest.mark.models
@pytest.mark.parametrize("level", [0.003, 0.03])
def test_breath_is_nothing(tiny: Whisper, level: float) -> None:
    """Noise that swells and fades like breathing, in the band of a breath."""
    random = np.random.default_rng(2)
    white = np.convolve(random.normal(0, 1, 4 * RATE), np.ones(8) / 8, mode="same")
    swell = np.sin(np.pi * np.arange(4 * RATE) / RATE / 1.3) ** 2
    sound = (np.clip(level * white * swell, -1, 1) * 32767).astype(np.int16)
    assert transcribe(tiny, sound).empty


@pytest.mark.models
@pytest.mark.parametrize(("start_s", "end_s"), [(1.75, 4.5), (0.0, 3.55), (2.05, 3.9)])
def test_a_clip_that_is_cut_inside_a_word_brings_no_others(
    tiny: Whisper, recordings: Path, start_s: float, end_s: float
) -> None:
    """The words between stand; of those that were cut at most one is heard as something else."""
    sound = samples_of(recordings / "cars.wav")[int(start_s * RATE) : int(end_s * RATE)]
    heard = [word.strip(" .?,").lower() for word in transcribe(tiny, sound).words]
    said = ["how", "many", "cars", "are", "there", "in", "the", "picture"]
    strangers = [word for word in heard if word not in said]
    assert len(strangers) <= 1, heard
    assert {"cars", "are", "there"} <= set(heard)


@pytest.mark.models
def test_room_noise_is_nothing(tiny: Whisper, base: Whisper, recordings: Path) -> None:
    sound = samples_of(recordings / "noise.wav")
    assert transcribe(tiny, sound).empty
    assert transcribe(base, sound).empty


@pytest.mark.models
def test_long_speech_is_cut_and_nothing_is_lost(tiny: Whisper, recordings: Path) -> None:
    files = ["reader.flac", "jfk.flac", "proof.wav"]
    sound = np.concatenate([samples_of(recordings / file) for file in files])
    assert sound.size > 38 * RATE
    notes = [find_note(recordings / file) for file in files]
    said = " ".join(note.text for note in notes if note)
    wrong, words = errors(said, transcribe(tiny, sound).text)
    assert wrong / words < 0.05


@pytest.mark.models
def test_a_language_is_fixed_or_chosen_among_some(recordings: Path) -> None:
    folder = resolve("bundle:whisper-base")
    sound = samples_of(recordings / "seine.mp3")
    one, two = (Whisper(folder, threads=2, languages=codes) for codes in (["en"], ["de", "fr"]))
    assert transcribe(one, sound).language == "en"
    assert transcribe(two, sound).language in ("de", "fr")


@pytest.mark.models
@pytest.mark.parametrize(("model", "code"), [("whisper-tiny.en", "de"), ("whisper-base", "xx")])
def test_an_unknown_language_is_an_error(model: str, code: str) -> None:
    with pytest.raises(ModelError, match=f"does not know the language '{code}'"):
        Whisper(resolve(f"bundle:{model}"), languages=[code])


def test_an_incomplete_folder_is_an_error_and_not_a_download(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no config\.json"):
        Whisper(tmp_path)
    for name in ("config.json", "model.bin"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        Whisper(tmp_path)


def test_a_broken_model_is_an_error(tmp_path: Path) -> None:
    for name in ("config.json", "model.bin", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded"):
        Whisper(tmp_path)


def test_every_window_is_warm_before_anybody_speaks(
    tiny: Whisper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first doubtful decode took 30 MiB for its longest window, in the middle of a talk."""
    windows: list[int] = []
    generate = Whisper.generate

    def noted(self: Whisper, encoded: Any, samples: int, window: int, language: str = "") -> Decode:
        windows.append(window)
        return generate(self, encoded, samples, window, language)

    monkeypatch.setattr(Whisper, "generate", noted)
    tiny.warm_up()
    assert windows == [window_for(RATE), *SECOND_OPINIONS]
    assert max(windows) == FULL
