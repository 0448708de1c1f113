"""A Piper voice: text to sound, one clause at a time, on a fixed number of threads.

Rule for what the voice cannot say: a symbol without a phoneme in this voice is skipped, with one
warning per symbol; text of which nothing is left gives no samples.
"""

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from pipeline.errors import ConfigError, ModelError
from stages.tts.sound import to_int16, trim

_LOG = logging.getLogger(__name__)
_INPUTS = {"input", "input_lengths", "scales"}
_REST_S = 0.1  # between two sentences of one clause
_REMEDY = "Name a Piper voice: a NAME.onnx file with NAME.onnx.json beside it"


@dataclass(frozen=True)
class VoiceSettings:
    """How a voice speaks.

    Attributes:
        speed: 1.0 is the voice's own pace, 2.0 twice as fast.
        volume: factor on the samples.
        speaker: number, of a voice with several.
        noise: variation of the sound; None: the voice's own.
        noise_w: variation of the durations; None: the voice's own.
        threads: how many ONNX Runtime may use.
    """

    speed: float = 1.0
    volume: float = 1.0
    speaker: int = 0
    noise: float | None = None
    noise_w: float | None = None
    threads: int = 1


class PiperVoice:
    """One loaded voice; it has no state between clauses, so every lane may use it."""

    def __init__(self, voice: Any, settings: VoiceSettings) -> None:
        from piper import SynthesisConfig

        self._voice = voice
        self._volume = settings.volume
        self._ids = _usable_ids(voice.config)
        self._warned: set[str] = set()
        self._style = SynthesisConfig(
            speaker_id=_speaker(voice.config, settings.speaker),
            length_scale=voice.config.length_scale / settings.speed,
            noise_scale=settings.noise,
            noise_w_scale=settings.noise_w,
        )
        self.rate: int = voice.config.sample_rate

    @classmethod
    def load(cls, path: Path, settings: VoiceSettings) -> "PiperVoice":
        """Load `path`, a `.onnx` file, and its `.onnx.json`.

        Raises:
            ModelError: piper-tts is not installed, or a file is missing, broken or not Piper's.
            ConfigError: the voice has no such speaker.
        """
        try:
            import piper
        except ImportError as error:
            raise ModelError(
                f"Piper voices need piper-tts ({error})", "pip install 'voxring[local]'"
            ) from error
        config = _read_config(path.with_name(f"{path.name}.json"), piper.PiperConfig)
        return cls(
            piper.PiperVoice(session=_session(path, settings.threads), config=config), settings
        )

    def synthesise(self, text: str) -> NDArray[np.int16]:
        """Sound of one clause at `rate`, int16 mono, without silence around it."""
        rest = np.zeros(round(_REST_S * self.rate), np.int16)
        parts: list[NDArray[np.int16]] = []
        for phonemes in self._voice.phonemize(text):  # espeak-ng may see several sentences
            if len(sound := self._say(phonemes)):
                parts += [rest, sound] if parts else [sound]
        return np.concatenate(parts) if parts else np.zeros(0, np.int16)

    def _say(self, phonemes: list[str]) -> NDArray[np.int16]:
        known = self._known(phonemes)
        if not any(map(str.isalnum, known)):
            return np.zeros(0, np.int16)
        ids = self._voice.phonemes_to_ids(known)
        sound: NDArray[np.float32] = self._voice.phoneme_ids_to_audio(ids, self._style).reshape(-1)
        return to_int16(trim(sound * np.float32(self._volume), self.rate))

    def _known(self, phonemes: Iterable[str]) -> list[str]:
        known = []
        for phoneme in phonemes:
            if phoneme in self._ids:
                known.append(phoneme)
            elif phoneme not in self._warned:
                self._warned.add(phoneme)
                _LOG.warning("the voice has no sound for %r: it is skipped", phoneme)
        return known


def _session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # A spinning pool burns 50 ms of CPU a call that the other stages need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # NOTE: ONNX Runtime's own errors share no public base class
        raise ModelError(f"{path} cannot be loaded: {error}", _REMEDY) from error
    inputs = {node.name for node in session.get_inputs()}
    if not inputs >= _INPUTS:
        raise ModelError(
            f"{path} is not a Piper voice: it takes {sorted(inputs)}, not {sorted(_INPUTS)}",
            _REMEDY,
        )
    return session


def _read_config(path: Path, kind: Any) -> Any:
    try:
        return kind.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist", _REMEDY) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path} is not the JSON of a Piper voice: {error!r}", _REMEDY) from error


def _usable_ids(config: Any) -> frozenset[str]:
    """Phonemes whose ids all lie in the voice's table; others would abort inside the graph."""
    return frozenset(
        phoneme
        for phoneme, ids in config.phoneme_id_map.items()
        if all(0 <= id < config.num_symbols for id in ids)
    )


def _speaker(config: Any, speaker: int) -> int:
    if not 0 <= speaker < max(config.num_speakers, 1):
        names = ", ".join(config.speaker_id_map) or "none"
        raise ConfigError(
            f"the voice has no speaker {speaker}; it has {config.num_speakers}, named: {names}",
            "Set tts.speaker to a smaller number",
        )
    return speaker
