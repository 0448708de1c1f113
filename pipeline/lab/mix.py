"""Clips as a suite has them said: with noise mixed in, and both ends of the speech known."""

from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError, ConfigError
from pipeline.lab.suite import Conversation, Saying
from stages.audio.clip import Clip, load_clip
from stages.audio.convert import resample, to_int16
from stages.audio.level import FULL_SCALE, amplitude, decibels
from stages.audio.room_tone import RoomTone
from stages.audio.speech_end import find_speech_end, measure_speech_end
from stages.audio.wav_stream import WavStream
from stages.topology import INPUT_RATE

TAIL_S = 1.5  # of noise behind what is said: longer than a pipeline waits for the end of a turn
_SILENT = 1e-6  # share of full scale


@dataclass(frozen=True)
class Said:
    """A clip, ready to be played.

    Attributes:
        path: what to play; not the suite's own file where noise was mixed in.
        text: what is said; None: nobody tells.
        speech_start_s: from its start to the first voiced sample; None if nothing is said.
        speech_end_s: to the end of the last one.
        speech_end_source: "manifest" or "energy".
        truncated: what is missing of the file; "" if it is whole.
    """

    say: Saying
    key: str
    path: Path
    duration_s: float
    text: str | None
    speech_start_s: float | None
    speech_end_s: float | None
    speech_end_source: str
    truncated: str = ""


def prepare(conversation: Conversation, folder: Path, work: Path) -> list[Said]:
    """Read and mix the clips of a conversation.

    Args:
        folder: that the suite's files are relative to.
        work: for what is mixed.

    Raises:
        ConfigError: a file of the suite cannot be read; an end of speech lies behind the clip's.
    """
    keys = conversation.keys
    return [
        _prepare(say, key, folder, work) for say, key in zip(conversation.turn, keys, strict=True)
    ]


def _prepare(say: Saying, key: str, folder: Path, work: Path) -> Said:
    try:
        clip = load_clip(folder / say.file)
        found = find_speech_end(clip)
    except AudioError as error:
        raise ConfigError(f"{key}: {error.message}", error.remedy) from None
    end = found.seconds if say.speech_end_s is None else say.speech_end_s
    if end is not None and end > clip.duration_s:
        raise ConfigError(
            f"{key}: speech_end_s is {end:g}, behind the end of the clip at {clip.duration_s:.2f} s"
        )
    said = Said(
        say=say,
        key=key,
        path=clip.path,
        duration_s=clip.duration_s,
        text=found.text if say.text is None else say.text,
        speech_start_s=None if end is None else _speech_start(clip, end),
        speech_end_s=end,
        speech_end_source=found.source if say.speech_end_s is None else "manifest",
        truncated=clip.truncated or "",
    )
    return said if say.noise_snr_db is None else _with_noise(said, clip, folder, work)


def _speech_start(clip: Clip, end_s: float) -> float:
    """The end of the speech, heard backwards."""
    speech = clip.samples[: round(end_s * clip.rate)]
    length = measure_speech_end(replace(clip, samples=speech[::-1]))
    return 0.0 if length is None else max(0.0, speech.size / clip.rate - length)


def _with_noise(said: Said, clip: Clip, folder: Path, work: Path) -> Said:
    """The clip at 16 kHz with noise from its start until some time behind its speech."""
    assert said.say.noise_snr_db is not None
    speech = resample(clip.samples, clip.rate, INPUT_RATE)
    tail = round(((said.speech_end_s or 0.0) + TAIL_S) * INPUT_RATE)
    length = max(speech.size, tail)
    spoken = _spoken(speech, said)
    level = _level(spoken) - said.say.noise_snr_db
    noise = _noise(said, folder, length, level)
    mixed = noise.copy()
    mixed[: speech.size] += speech
    mixed /= max(1.0, float(np.abs(mixed).max()))  # softer, both alike: never clipped
    path = work / f"{crc32(said.key.encode()):08x}-{said.path.stem}.wav"
    file = WavStream(path, INPUT_RATE, channels=1)
    try:
        file.write(0, to_int16(mixed)[:, None])
    finally:
        file.close()
    return replace(said, path=path, duration_s=length / INPUT_RATE)


def _spoken(speech: NDArray[np.float32], said: Said) -> NDArray[np.float32]:
    """What the level of the speech is taken from: pauses before and behind it count for nothing."""
    if said.speech_start_s is None or said.speech_end_s is None:
        raise ConfigError(
            f"{said.key}: noise_snr_db is a distance from speech, and nothing is said in the clip"
        )
    return speech[round(said.speech_start_s * INPUT_RATE) : round(said.speech_end_s * INPUT_RATE)]


def _noise(said: Said, folder: Path, length: int, dbfs: float) -> NDArray[np.float32]:
    """float32 [length] at a level: the suite's own, again and again, or that of a room."""
    if not said.say.noise:
        seed = crc32(said.key.encode())  # the same in every run
        tone = RoomTone(-20.0, seed).take(length).astype(np.float32) / np.float32(FULL_SCALE)
        return tone * np.float32(amplitude(dbfs - -20.0))
    try:
        clip = load_clip(folder / said.say.noise)
    except AudioError as error:
        raise ConfigError(f"{said.key}: noise: {error.message}", error.remedy) from None
    sound = resample(clip.samples, clip.rate, INPUT_RATE)
    whole = np.resize(sound, length)
    return whole * np.float32(amplitude(dbfs - _level(whole)))


def _level(sound: NDArray[np.float32]) -> float:
    """Its RMS in dBFS."""
    power = float(np.mean(np.square(sound, dtype=np.float64))) if sound.size else 0.0
    return decibels(max(power**0.5, _SILENT))
