"""What is said into the microphone over an answer, with its first voiced sample known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from pipeline.errors import AudioError
from pipeline.models import silero_vad_path
from stages.audio.clip import Clip, load_clip
from stages.audio.convert import convert, to_int16
from stages.audio.level import amplitude
from stages.audio.manifest import find_note
from stages.audio.speech_end import find_speech_end, measure_speech_end
from stages.topology import INPUT_RATE
from stages.turn.vad import WINDOW, SileroVad, VadState

LEAD_S, TAIL_S = 0.05, 0.1  # of the recording's own silence, around what is said
RUN_UP_S = 0.3  # before a voice that is sure, within which it begins
SURE = 0.5
FADE_S = 0.005  # where it is cut
BURSTS_S = (0.15, 0.4, 0.8)
BURST_DBFS = -20.0


@dataclass(frozen=True)
class Said:
    """A short recording of one utterance.

    Attributes:
        onset_s: from its start to the first voiced sample.
        end_s: to the end of the last one.
        text: what is said; "" for noise.
    """

    path: Path
    text: str
    onset_s: float
    end_s: float
    duration_s: float

    @property
    def voiced_ns(self) -> int:
        """From the first voiced sample to the last."""
        return round((self.end_s - self.onset_s) * 1e9)


def read_said(clips: Sequence[Path], folder: Path) -> list[Said]:
    """Clips without the silence around what is said, written to a folder.

    Raises:
        AudioError: one cannot be read, or nothing is said in it.
    """
    vad = SileroVad(silero_vad_path())
    return [trim(clip, voice_s(clip, vad), folder) for clip in map(load_clip, clips)]


def voice_s(clip: Clip, vad: SileroVad) -> float:
    """Seconds to the first window that is surely a voice: what is before may be a click.

    Raises:
        AudioError: there is none.
    """
    samples = convert(clip.samples, clip.rate)
    windows = samples[: len(samples) // WINDOW * WINDOW]
    voiced = np.flatnonzero(vad.probabilities(VadState(), windows) >= SURE)
    if not len(voiced):
        raise AudioError(f"nothing is said in {clip.path.name}", "Choose another clip")
    return float(voiced[0]) * WINDOW / INPUT_RATE


def trim(clip: Clip, voice_s: float, folder: Path) -> Said:
    """Cut off what is before and behind the voice.

    Args:
        voice_s: an instant near its beginning.

    Raises:
        AudioError: nothing is said in it.
    """
    note, end = find_note(clip.path), find_speech_end(clip).seconds
    onset = measure_onset(clip, voice_s)
    if onset is None or end is None:
        raise AudioError(f"nothing is said in {clip.path.name}", "Choose another clip")
    start = max(0.0, onset - LEAD_S)
    sound = clip.samples[round(start * clip.rate) : round((end + TAIL_S) * clip.rate)]
    text = note.text if note and note.text else ""
    return _write(
        folder / f"{clip.path.stem}.wav", sound, clip.rate, (onset - start, end - start), text
    )


def measure_onset(clip: Clip, voice_s: float) -> float | None:
    """Seconds from a clip's start to its first voiced sample: its end, heard backwards.

    Args:
        voice_s: an instant near it.
    """
    before = round(max(0.0, voice_s - RUN_UP_S) * clip.rate)
    end = measure_speech_end(replace(clip, samples=clip.samples[before:][::-1]))
    return None if end is None else clip.duration_s - end


def write_spoken(name: str, samples: NDArray[np.int16], rate: int, folder: Path) -> Said:
    """Synthetic speech, int16 [n], as it is; `name` is its text."""
    sound = samples.astype(np.float32) / np.float32(32768)
    stem = "".join(c if c.isalnum() else "-" for c in name)
    return _write(folder / f"{stem}.wav", sound, rate, (0.0, len(sound) / rate), name)


def noise_bursts(folder: Path, seed: int) -> list[Said]:
    """Bursts of noise: something falls, somebody coughs far away."""
    generator = np.random.default_rng(seed)
    found = []
    for seconds in BURSTS_S:
        size = round(seconds * INPUT_RATE)
        shape = np.exp(-4 * np.arange(size) / size)
        sound = generator.standard_normal(size) * shape * amplitude(BURST_DBFS)
        path = folder / f"noise-{seconds:g}.wav"
        found.append(_write(path, sound.astype(np.float32), INPUT_RATE, (0.0, seconds), ""))
    return found


def _write(
    path: Path, sound: NDArray[np.float32], rate: int, voiced: tuple[float, float], text: str
) -> Said:
    sound = sound.copy()
    edge = round(FADE_S * rate)
    sound[:edge] *= np.linspace(0, 1, edge, dtype=np.float32)
    sound[-edge:] *= np.linspace(1, 0, edge, dtype=np.float32)
    samples = convert(sound, rate) if rate != INPUT_RATE else to_int16(sound)
    soundfile.write(path, samples, INPUT_RATE)
    return Said(path, text, *voiced, len(samples) / INPUT_RATE)
