"""Recorded speech, and when each of its words ends."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import jiwer
import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from stages.asr.log_mel import LogMel
from stages.asr.transcript import bare, split_words
from stages.asr.whisper import Whisper
from stages.asr.window import FRAME, FULL, RATE, loudest_dbfs
from stages.audio.clip import load_clip
from stages.audio.convert import convert
from stages.audio.manifest import NAME, find_note
from stages.audio.room_tone import noise_level

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"
_SUFFIXES = (".wav", ".flac", ".mp3")
_QUIET_BELOW_PEAK_DB = 30.0  # what is so much softer than the clip's loudest 20 ms ends no word
_REMEDY = "Name a folder of clips with a manifest.toml beside them: --recordings FOLDER"


@dataclass(frozen=True)
class Spoken:
    """A clip in which somebody speaks.

    Attributes:
        samples: int16 [n] at 16 kHz.
        text: what is said.
        speech_end_s: end of its last voiced sample.
        noise_dbfs: level of its quietest moments.
    """

    name: str
    samples: NDArray[np.int16]
    text: str
    speech_end_s: float
    noise_dbfs: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return len(self.samples) / RATE


@dataclass(frozen=True)
class Word:
    """A word of a clip, and where it ends in it, seconds."""

    text: str
    end_s: float


def read_clips(folder: Path) -> list[Spoken]:
    """Every clip of a folder whose manifest says what is said and where it ends, by name.

    Raises:
        AudioError: there is none, or one cannot be read.
    """
    if not folder.is_dir():
        raise AudioError(f"there is no folder of recordings {folder.name!r}", _REMEDY)
    clips = [
        clip
        for path in sorted(folder.iterdir())
        if path.suffix in _SUFFIXES and (clip := _read(path))
    ]
    if not clips:
        raise AudioError(f"no clip of {folder.name!r} has text and speech_end_s in {NAME}", _REMEDY)
    return clips


def _read(path: Path) -> Spoken | None:
    note = find_note(path)
    if note is None or not note.text or note.speech_end_s is None:
        return None
    clip = load_clip(path)
    samples = convert(clip.samples, clip.rate)
    return Spoken(path.stem, samples, note.text, note.speech_end_s, noise_level(clip))


def timed_words(whisper: Whisper, clip: Spoken) -> list[Word]:
    """The words of a clip of at most 30 s, by a larger Whisper that hears all of it at once.

    Its alignment gives a pause to the word before it. So a word ends no later than the last 20 ms
    that are within 30 dB of the clip's loudest, and than the annotated end of speech.
    """
    sound = clip.samples.astype(np.float32) / np.float32(32768)
    mel = LogMel(whisper.filters)
    mel.append(sound)
    encoded = whisper.encode(mel.window(len(sound), FULL))
    decode = whisper.generate(encoded, len(sound), FULL)
    ends = whisper.id_ends(encoded, decode, len(sound))
    lengths = [len(whisper.spell(decode.ids[: n + 1])) for n in range(len(decode.ids))]
    words = split_words(decode.text)
    stops = accumulate(map(len, words))
    voiced, over = _voiced(sound), round(clip.speech_end_s * RATE)
    return [
        Word(word.strip(), min(_last(voiced, ends[bisect_left(lengths, stop)]), over) / RATE)
        for word, stop in zip(words, stops, strict=True)
    ]


def _voiced(sound: NDArray[np.float32]) -> list[int]:
    """Where the frames of 20 ms end that are no pause."""
    floor = loudest_dbfs(sound) - _QUIET_BELOW_PEAK_DB
    ends = range(FRAME, len(sound) + 1, FRAME)
    return [end for end in ends if loudest_dbfs(sound[end - FRAME : end]) > floor]


def _last(voiced: Sequence[int], end: int) -> int:
    at = bisect_left(voiced, end + 1)
    return voiced[at - 1] if at else end


def word_errors(said: str, heard: str) -> tuple[int, int]:
    """Wrong words and words said, case and punctuation aside."""
    said, heard = normal(said), normal(heard)
    out = jiwer.process_words(said, heard)
    return out.substitutions + out.deletions + out.insertions, len(said.split())


def normal(text: str) -> str:
    """Text without case and punctuation."""
    return " ".join(re.sub(r"[^\w']", " ", text.lower()).split())


def align(said: Sequence[str], heard: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of indices of words that are the same, or stand in each other's place."""
    one = {n: word for n, text in enumerate(said) if (word := bare(text))}
    other = {n: word for n, text in enumerate(heard) if (word := bare(text))}
    if not one or not other:
        return []
    chunks = jiwer.process_words(" ".join(one.values()), " ".join(other.values())).alignments[0]
    here, there = list(one), list(other)
    return [
        (here[chunk.ref_start_idx + n], there[chunk.hyp_start_idx + n])
        for chunk in chunks
        if chunk.type in ("equal", "substitute")
        for n in range(chunk.ref_end_idx - chunk.ref_start_idx)
    ]
