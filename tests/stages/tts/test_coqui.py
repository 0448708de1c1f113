"""Coqui voices: their adapters with fakes, and once for real in an interpreter of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

from pipeline.errors import ModelError
from pipeline.pipeline import Pipeline
from stages.outcome import Outcome
from stages.tts.coqui_voice import CoquiOptions, VitsVoice, XttsVoice, load_coqui
from tests.pipeline.running import run, scripted, tone, until_turn_ended

PYTHON = os.environ.get("VOXRING_COQUI_PYTHON", "")
RATE = 1000


class FakeArray:
    """As a torch tensor of samples."""

    def __init__(self, samples: np.ndarray) -> None:
        self.samples = samples

    def detach(self) -> "FakeArray":
        return self

    cpu = detach

    def numpy(self) -> np.ndarray:
        return self.samples


class FakeXtts:
    """Speaks 50 ms a word, after 50 ms of silence."""

    config = SimpleNamespace(audio=SimpleNamespace(output_sample_rate=RATE))

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def inference_stream(self, text: str, *given: object, **named: object) -> Iterator[FakeArray]:
        self.asked.append((text, *given, named))
        yield FakeArray(np.zeros(50, np.float32))
        for _ in text.split():
            yield FakeArray(np.full(50, 0.5, np.float32))
        yield FakeArray(np.zeros(100, np.float32))


def test_xtts_speaks_a_clause_in_pieces() -> None:
    model = FakeXtts()
    voice = XttsVoice(model, ("latents", "speaker"), CoquiOptions(), speed=1.5, volume=0.5)
    pieces = list(voice.pieces("one two three"))
    assert [is_last for _, is_last in pieces] == [False] * 4 + [True]
    whole = np.concatenate([samples for samples, _ in pieces])
    assert len(whole) == 10 + 150 + 30
    assert whole.max() == round(0.25 * 32767)
    named = {"stream_chunk_size": 20, "speed": 1.5}
    assert model.asked == [("one two three", "en", "latents", "speaker", named)]


def test_xtts_that_says_nothing_gives_nothing() -> None:
    voice = XttsVoice(FakeXtts(), (0, 0), CoquiOptions(), speed=1.0, volume=1.0)
    assert list(voice.pieces("")) == []


class FakeSynthesizer:
    """As `TTS.utils.synthesizer.Synthesizer`."""

    def __init__(self, speakers: tuple[str, ...] = (), languages: tuple[str, ...] = ()) -> None:
        def manager(names: tuple[str, ...]) -> SimpleNamespace:
            return SimpleNamespace(name_to_id=dict.fromkeys(names, 0))

        self.tts_config = SimpleNamespace(audio={"sample_rate": RATE})
        self.tts_model = SimpleNamespace(
            speaker_manager=manager(speakers), language_manager=manager(languages)
        )
        self.asked: list[dict[str, object]] = []

    def tts(self, text: str, **named: object) -> list[float]:
        self.asked.append(named)
        return [0.0] * 100 + [0.5] * 200 + [0.0] * 100 if text else [0.0] * 10


def test_vits_speaks_a_clause_at_once() -> None:
    synthesizer = FakeSynthesizer(("ann", "bob"), ("en", "de"))
    voice = VitsVoice(synthesizer, CoquiOptions(speaker="bob", language="de"), volume=1.0)
    [(samples, is_last)] = voice.pieces("eins")
    assert is_last
    assert len(samples) == 10 + 200 + 30
    assert list(voice.pieces("")) == []
    chosen = {"split_sentences": False, "speaker_name": "bob", "language_name": "de"}
    assert synthesizer.asked[0] == chosen


def test_an_unknown_speaker_is_named() -> None:
    with pytest.raises(ModelError, match="no 'eve'; it has: ann, bob"):
        VitsVoice(FakeSynthesizer(("ann", "bob")), CoquiOptions(speaker="eve"), volume=1.0)


def test_without_coqui_its_interpreter_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "TTS.config", None)
    with pytest.raises(ModelError) as caught:
        load_coqui(tmp_path, CoquiOptions(), 1.0, 1.0)
    assert "tts.python" in caught.value.remedy


needs_coqui = pytest.mark.skipif(
    not PYTHON, reason="VOXRING_COQUI_PYTHON names no interpreter with coqui-tts; see docs/tts.md"
)


@needs_coqui
@pytest.mark.parametrize(
    ("kind", "options", "rate"),
    [("vits", (), 22_050), ("xtts", ("tts.options.speaker=anna",), 24_000)],
)
def test_a_coqui_voice_speaks_in_its_own_interpreter(
    tmp_path: Path, kind: str, options: tuple[str, ...], rate: int
) -> None:
    async def work(pipeline: Pipeline) -> Outcome:
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav"), out=tmp_path / "answer.wav")
            ended, _ = await until_turn_ended(lane)
            return ended.timeline.outcome

    script = Path(__file__).with_name("coqui_checkpoint.py")
    subprocess.run([PYTHON, str(script), kind, str(tmp_path)], check=True, capture_output=True)
    config = scripted("tts.stage=coqui", f"tts.model={tmp_path}", f"tts.python={PYTHON}", *options)
    assert run(work, config) is Outcome.ANSWERED
    samples, heard_rate = soundfile.read(tmp_path / "answer.wav")
    assert heard_rate == rate
    assert np.abs(samples).max() > 0.001


@needs_coqui
def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    async def work(pipeline: Pipeline) -> None:
        raise AssertionError("it must not start")

    (tmp_path / "config.json").write_text("{")
    config = scripted("tts.stage=coqui", f"tts.model={tmp_path}", f"tts.python={PYTHON}")
    with pytest.raises(Exception, match="cannot be loaded"):
        run(work, config)
