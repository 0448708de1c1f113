from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import AudioError
from stages.audio.clip import Clip, load_clip
from stages.audio.manifest import find_note
from stages.audio.speech_end import find_speech_end, measure_speech_end

pytest.importorskip("soxr")
QUESTION = Path(__file__).parents[3] / "demos" / "question.wav"
RATE = 16_000


def clip(samples, rate=RATE, path=Path("nowhere") / "a.wav", truncated=None):
    return Clip(path, np.asarray(samples, np.float32), rate, 1, truncated)


def noise(seconds, amplitude, seed=0):
    return np.random.default_rng(seed).normal(0, amplitude, round(seconds * RATE))


def vowel(seconds, amplitude=0.2, hz=120.0):
    """A glottal pulse train, like a voice without a mouth."""
    time = np.arange(round(seconds * RATE)) / RATE
    return sum(amplitude / k * np.sin(2 * np.pi * hz * k * time) for k in range(1, 20))


def hiss(seconds, amplitude=0.02):
    return noise(seconds, amplitude, seed=5)


def scene(*parts, floor=0.0005):
    samples = np.concatenate(parts)
    return samples + noise(samples.size / RATE, floor, seed=9)[: samples.size]


def quiet(seconds):
    return np.zeros(round(seconds * RATE))


def test_the_end_of_a_voice():
    sound = scene(quiet(0.5), vowel(0.3), quiet(0.1), vowel(0.4), quiet(0.6))
    assert measure_speech_end(clip(sound)) == pytest.approx(1.3, abs=0.03)


def test_a_final_consonant_after_a_closure_belongs_to_it():
    sound = scene(quiet(0.5), vowel(0.4), quiet(0.1), hiss(0.08), quiet(0.6))
    assert measure_speech_end(clip(sound)) == pytest.approx(1.08, abs=0.03)


def test_a_click_long_after_it_does_not():
    sound = scene(quiet(0.5), vowel(0.4), quiet(0.5), hiss(0.05, 0.3), quiet(0.2))
    assert measure_speech_end(clip(sound)) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("gain", [0.02, 1.0, 4.0])
def test_the_level_does_not_matter(gain):
    sound = scene(quiet(0.5), vowel(0.4), quiet(0.5)) * gain
    assert measure_speech_end(clip(sound)) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize(
    "sound",
    [
        quiet(10.0),
        quiet(0.001),
        np.full(RATE, 0.5),
        noise(5.0, 0.05),
        noise(5.0, 1e-5),
        np.cumsum(noise(5.0, 0.001)),
        scene(quiet(1.0), hiss(0.02, 0.5), quiet(1.0)),
    ],
    ids=["silence", "16 samples", "offset", "white", "faint", "brown", "click"],
)
def test_there_is_no_speech_in(sound):
    assert measure_speech_end(clip(sound)) is None


def test_a_voice_up_to_the_last_sample():
    assert measure_speech_end(clip(vowel(0.5))) == pytest.approx(0.5, abs=0.03)


def test_the_shipped_question_is_annotated_and_measured_alike():
    question = load_clip(QUESTION)
    end = find_speech_end(question)
    assert (end.source, end.text) == ("manifest", "What do plants need to grow?")
    assert measure_speech_end(question) == pytest.approx(end.seconds, abs=0.03)


def test_recorded_speech_is_measured_as_it_is_annotated(recordings):
    errors = {}
    for path in sorted(recordings.iterdir()):
        note = find_note(path)
        if note is None or note.speech_end_s is None:
            continue
        measured = measure_speech_end(load_clip(path))
        assert measured is not None, path.name
        errors[path.name] = measured - note.speech_end_s
    assert max(abs(error) for error in errors.values()) <= 0.125, errors
    assert np.mean(np.abs(list(errors.values()))) <= 0.06, errors


def test_recorded_noise_is_not_speech(recordings):
    noise_clip = load_clip(recordings / "noise.wav")
    assert measure_speech_end(noise_clip) is None
    assert find_speech_end(noise_clip).seconds is None


def annotated(folder, end):
    (folder / "manifest.toml").write_text(f'[[clip]]\nfile = "a.wav"\nspeech_end_s = {end}')
    return folder / "a.wav"


def test_the_manifest_comes_first(tmp_path):
    end = find_speech_end(clip(noise(2.0, 0.1), path=annotated(tmp_path, 1.25)))
    assert (end.seconds, end.source) == (1.25, "manifest")


def test_without_one_it_is_measured_and_said_so(tmp_path):
    end = find_speech_end(clip(vowel(0.5), path=tmp_path / "a.wav"))
    assert (end.source, end.text) == ("energy", None)


def test_an_annotation_behind_the_clip_is_an_error(tmp_path):
    with pytest.raises(AudioError, match=r"is 2\.5 s, but the clip lasts 2\.00 s"):
        find_speech_end(clip(noise(2.0, 0.1), path=annotated(tmp_path, 2.5)))


def test_of_a_clip_that_was_cut_off_the_annotation_does_not_count(tmp_path):
    path = annotated(tmp_path, 2.5)
    end = find_speech_end(clip(vowel(0.5), path=path, truncated="cut off"))
    assert (end.seconds, end.source) == (pytest.approx(0.5, abs=0.03), "energy")


def test_an_annotation_without_text_or_end_says_no_speech(tmp_path):
    (tmp_path / "manifest.toml").write_text('[[clip]]\nfile = "a.wav"\ntext = ""')
    end = find_speech_end(clip(vowel(0.5), path=tmp_path / "a.wav"))
    assert (end.seconds, end.source) == (None, "manifest")
