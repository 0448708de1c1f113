"""Moments at which somebody falls silent: at an end, in a pause, cut off in mid-sentence.

Pauses are where Silero hears no voice inside the speech of the clip as it was recorded: there a
pipeline has to decide. Cuts are made behind words with no punctuation behind them.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.asr_clips import Spoken, Word
from stages.audio.convert import convert
from stages.audio.level import FULL_SCALE, amplitude, decibels
from stages.audio.manifest import NAME
from stages.audio.room_tone import RoomTone
from stages.turn.endpointer import HYSTERESIS
from stages.turn.smart_turn import RATE
from stages.turn.vad import WINDOW, SileroVad, VadState

Floats = NDArray[np.float32]

SHORTEST_MS = 200  # of a pause
SILENCE_S = 1.0  # behind ends and cuts
CUTS = (0.3, 0.5, 0.7)  # of the speech
_THRESHOLD = 0.5 - HYSTERESIS
_FADE = RATE // 200  # 5 ms: a cut must not click
_ENDS_MID_SPEECH = "ends mid-speech"  # in `kind` of the manifest


class Kind(StrEnum):
    """Why somebody falls silent."""

    END = "end"
    PAUSE = "pause"
    CUT = "cut"


@dataclass(frozen=True)
class Moment:
    """A silence and what was said before it.

    Attributes:
        sound: float32 [n] at 16 kHz, the silence included.
        at: samples before the silence.
    """

    kind: Kind
    clip: str
    sound: Floats
    at: int

    @property
    def silence_ms(self) -> float:
        """How long it lasts."""
        return (len(self.sound) - self.at) * 1000 / RATE

    def after(self, silence_ms: float) -> Floats:
        """What was heard when the silence has lasted for so long."""
        return self.sound[: self.at + int(silence_ms * RATE / 1000)]


@dataclass(frozen=True)
class Variant:
    """Another way to record the same.

    Attributes:
        gain_db: louder by this.
        snr_db: of speech over added noise; None adds none.
        speed: faster by this, and higher.
    """

    name: str
    gain_db: float = 0.0
    snr_db: float | None = None
    speed: float = 1.0

    def of(self, moment: Moment) -> Moment:
        """The moment as this variant has it."""
        sound = moment.sound
        if self.speed != 1.0:
            faster = round(RATE * self.speed)
            sound = convert(sound, faster, RATE).astype(np.float32) / np.float32(FULL_SCALE)
        if self.snr_db is not None:
            speech = decibels(float(np.sqrt(np.mean(sound**2))))
            noise = RoomTone(speech - self.snr_db, seed=1).take(len(sound))
            sound = sound + noise.astype(np.float32) / np.float32(FULL_SCALE)
        sound = np.clip(sound * np.float32(amplitude(self.gain_db)), -1, 1)
        return Moment(moment.kind, moment.clip, sound, int(moment.at / self.speed))


_PLACES = (
    Variant("as-is"),
    Variant("soft", gain_db=-20),
    Variant("noise-20", snr_db=20),
    Variant("noise-10", gain_db=-6, snr_db=10),
)
VARIANTS = tuple(
    Variant(f"{place.name}-x{speed:g}", place.gain_db, place.snr_db, speed)
    for place, speed in product(_PLACES, (0.9, 1.0, 1.1))
)
QUICK_VARIANTS = (VARIANTS[1], VARIANTS[6])


def find_moments(
    folder: Path, clips: Sequence[Spoken], words: dict[str, list[Word]], vad: SileroVad
) -> list[Moment]:
    """Every end, pause and cut of clips, as they were recorded."""
    broken = cut_off(folder)
    return [moment for clip in clips for moment in _of_clip(clip, words[clip.name], vad, broken)]


def cut_off(folder: Path) -> set[str]:
    """Names of clips that end before their speaker does."""
    notes = tomllib.loads((folder / NAME).read_text(encoding="utf-8"))["clip"]
    return {Path(note["file"]).stem for note in notes if _ENDS_MID_SPEECH in note.get("kind", "")}


def _of_clip(
    clip: Spoken, words: Sequence[Word], vad: SileroVad, broken: set[str]
) -> Iterator[Moment]:
    sound = clip.samples.astype(np.float32) / np.float32(FULL_SCALE)
    over = round(clip.speech_end_s * RATE)
    last = Kind.CUT if clip.name in broken else Kind.END
    yield Moment(last, clip.name, _then_silence(sound, len(sound), clip.noise_dbfs), over)
    for start, stop in find_pauses(clip.samples[:over], vad):
        yield Moment(Kind.PAUSE, clip.name, sound[:stop], start)
    for at in _cuts(words, clip.speech_end_s):
        yield Moment(Kind.CUT, clip.name, _then_silence(sound, at, clip.noise_dbfs), at)


def find_pauses(speech: NDArray[np.int16], vad: SileroVad) -> list[tuple[int, int]]:
    """Where silences of at least 200 ms begin and end inside speech, samples."""
    windows = len(speech) // WINDOW
    voiced = vad.probabilities(VadState(), speech[: windows * WINDOW]) >= _THRESHOLD
    inside = np.flatnonzero(voiced)
    return [
        ((int(before) + 1) * WINDOW, int(behind) * WINDOW)
        for before, behind in pairwise(inside)
        if (behind - before - 1) * WINDOW * 1000 >= SHORTEST_MS * RATE
    ]


def _cuts(words: Sequence[Word], speech_end_s: float) -> list[int]:
    """Samples behind the words that end nearest to each share of the speech."""
    ends = [word.end_s for word in words[:-1] if word.text[-1].isalnum()]
    nearest = {min(ends, key=lambda end: abs(end - share * speech_end_s)) for share in CUTS}
    return sorted(round(end * RATE) for end in nearest)


def _then_silence(sound: Floats, at: int, noise_dbfs: float) -> Floats:
    """Sound up to a sample, then a second of the room."""
    room = RoomTone(noise_dbfs).take(int(SILENCE_S * RATE)).astype(np.float32)
    spoken = sound[:at].copy()
    spoken[-_FADE:] *= np.linspace(1, 0, _FADE, dtype=np.float32)
    return np.concatenate((spoken, room / np.float32(FULL_SCALE)))
