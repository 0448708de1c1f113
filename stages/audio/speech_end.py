"""Where the speech of a clip ends: the instant from which first-audio latency is counted.

Annotated clips say it themselves. Others are measured by energy, in two steps: find the last
clearly voiced sound, then follow the level down through closures and final consonants until it
stays near the noise floor. A level alone would take a slammed door or a click for speech.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import AudioError
from stages.audio.clip import Clip
from stages.audio.convert import resample
from stages.audio.level import rms
from stages.audio.manifest import NAME, find_note

_RATE = 8_000  # all that voicing needs
_HOP = _RATE // 100  # 10 ms: levels, and the step of the voicing windows
_WINDOW = 4 * _HOP  # 40 ms: two periods of the lowest voice
_LAGS = np.arange(_RATE // 400, _RATE // 60 + 1)  # one period of a voice of 400 to 60 Hz
_CHUNK = 2_000  # voicing windows at a time: bounds memory for long clips

_VOICED = 0.6  # normalised autocorrelation from which a window is periodic
_CLEARLY_VOICED = 0.75
_QUIETEST_DB = -60.0  # a voice below this is no voice
_BELOW_TOP_DB = 25.0  # voiced windows weaker than this against the loudest are not counted
_RUMBLE_DB = 8.0  # sound with this much more outside the speech band is no voice
_SYLLABLE = 7  # clearly voiced windows in a row (100 ms) that prove speech
_ANCHOR = 3  # voiced windows in a row from which the end is followed
_FLOOR_PERCENTILE = 5.0
_ABOVE_FLOOR = 0.3  # share of the way from floor to voice that still counts as sound
_CLOSURE = 15  # windows (150 ms) of quiet that a stop consonant may take
_TAIL = 50  # windows (500 ms) that unvoiced sound may follow the last voiced one
_SILENCE = 1e-6  # share of full scale: keeps logarithms finite


@dataclass(frozen=True)
class SpeechEnd:
    """The end of the last voiced sample.

    Attributes:
        seconds: from the clip's start; None where nothing is said.
        source: who says so.
        text: what is said, if the manifest tells.
    """

    seconds: float | None
    source: Literal["manifest", "energy"]
    text: str | None = None


def find_speech_end(clip: Clip) -> SpeechEnd:
    """The end of speech by the manifest beside the clip, else by measurement.

    Raises:
        AudioError: the manifest is broken, or puts the end behind the end of the clip.
    """
    note = find_note(clip.path)
    text = note.text if note is not None else None
    if note is None or clip.truncated:  # of a clip that was cut off the annotation is not true
        return SpeechEnd(measure_speech_end(clip), "energy", text)
    if note.speech_end_s is not None:
        if note.speech_end_s > clip.duration_s + 0.01:
            raise AudioError(
                f"{clip.path.parent / NAME}: speech_end_s of {note.file} is "
                f"{note.speech_end_s} s, but the clip lasts {clip.duration_s:.2f} s"
            )
        return SpeechEnd(note.speech_end_s, "manifest", text)
    if text == "":
        return SpeechEnd(None, "manifest", text)
    return SpeechEnd(measure_speech_end(clip), "energy", text)


def measure_speech_end(clip: Clip) -> float | None:
    """The end of speech by energy, in seconds; None for silence, noise and rumble.

    Within 0.12 s of the annotation on nine recordings (mean 0.05 s). Sound with a steady pitch,
    like a hum of 200 Hz, passes for a voice.
    """
    samples = resample(clip.samples, clip.rate, _RATE)
    anchor = _last_voiced(samples)
    if anchor is None:
        return None
    window, voice_db = anchor
    last = _follow(_levels(_band(samples, 100, 4000), _HOP, _HOP), window, voice_db)
    return min((last + 1) * _HOP / _RATE, clip.duration_s)


def _last_voiced(samples: NDArray[np.float32]) -> tuple[int, float] | None:
    """A 10 ms window near the end of the last voiced sound, and the level of the voice."""
    if samples.size < _WINDOW:
        return None
    speech = _levels(_band(samples, 200, 3400), _WINDOW, _HOP)
    everything = _levels(_band(samples, 20, 4000), _WINDOW, _HOP)
    voicing = _voicing(_band(samples, 150, 1500))
    loud = (everything - speech < _RUMBLE_DB) & (speech > _QUIETEST_DB)
    if not _ends(loud & (voicing > _CLEARLY_VOICED), _SYLLABLE):
        return None
    voiced = loud & (voicing > _VOICED)
    voice_db = float(np.percentile(speech[voiced], 95))
    anchors = _ends(voiced & (speech > voice_db - _BELOW_TOP_DB), _ANCHOR)
    return (anchors[-1], voice_db) if anchors else None


def _follow(levels: NDArray[np.float64], window: int, voice_db: float) -> int:
    """From a voiced window on, the last one before the level stays down."""
    floor = float(np.percentile(levels, _FLOOR_PERCENTILE))
    threshold = floor + max(6.0, _ABOVE_FLOOR * (voice_db - floor))
    last = min(window, levels.size - 1)
    for i in range(last, min(levels.size, window + _TAIL)):
        if levels[i] > threshold:
            last = i
        elif i - last >= _CLOSURE:
            break
    return last


def _band(samples: NDArray[np.float32], low: float, high: float) -> NDArray[np.float32]:
    """What lies between two frequencies in Hz.

    The gain of a second-order Butterworth filter run forwards and backwards: steeper ones ring,
    and a click would have a tail.
    """
    frequencies = np.maximum(np.fft.rfftfreq(samples.size, 1 / _RATE), 1e-3)
    gain = 1 / ((1 + (low / frequencies) ** 4) * (1 + (frequencies / high) ** 4))
    return np.fft.irfft(np.fft.rfft(samples) * gain, samples.size).astype(np.float32)


def _levels(samples: NDArray[np.float32], window: int, hop: int) -> NDArray[np.float64]:
    """Level in dBFS of each window."""
    steps = rms(samples, hop) ** 2
    width = window // hop
    power = np.convolve(steps, np.full(width, 1 / width), "valid")
    levels: NDArray[np.float64] = 20 * np.log10(np.sqrt(np.maximum(power, 0)) + _SILENCE)
    return levels


def _voicing(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """How periodic each 40 ms window is: 1 a steady pitch, 0 noise.

    The highest normalised autocorrelation at a lag of one voice period.
    Source: Boersma, "Accurate short-term analysis of the fundamental frequency", 1993, without
    its interpolation; the normalisation is that of Talkin's RAPT, 1995.
    """
    windows = np.lib.stride_tricks.sliding_window_view(samples, _WINDOW)[::_HOP]
    parts = [_periodicity(windows[i : i + _CHUNK]) for i in range(0, len(windows), _CHUNK)]
    return np.concatenate(parts)


def _periodicity(windows: NDArray[np.float32]) -> NDArray[np.float64]:
    spectrum = np.fft.rfft(windows, 2 * _WINDOW)  # twice the length: no wrap-around
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:, _LAGS]
    energy = np.cumsum(windows.astype(np.float64) ** 2, axis=1)
    head = energy[:, _WINDOW - 1 - _LAGS]
    tail = energy[:, -1:] - energy[:, _LAGS - 1]
    ratio = correlation / np.sqrt(np.maximum(head * tail, 1e-12))
    best: NDArray[np.float64] = ratio.max(axis=1)
    return best


def _ends(mask: NDArray[np.bool_], shortest: int) -> list[int]:
    """Where runs of at least `shortest` true values end (exclusive)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return [int(end) for start, end in edges.reshape(-1, 2) if end - start >= shortest]
