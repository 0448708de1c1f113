"""A Piper voice's files: what they hold, and what is wrong with them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import ConfigError, ModelError
from stages.tts.speller import Speller
from stages.tts.vits.graphs import Style

REMEDY = "Name a Piper voice: a NAME.onnx file with NAME.onnx.json beside it"


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


class PiperModel:
    """What is beside the graph: phonemes and settings.

    Attributes:
        path: of the graph, the .onnx file.
        config: a `piper.PiperConfig`.
        speller: text to ids.
        style: the voice's own, with what was asked for.
    """

    def __init__(self, path: Path, config: Any, speller: Speller, settings: VoiceSettings) -> None:
        self.path = path
        self.config = config
        self.speller = speller
        self.settings = settings
        self.style = Style(
            noise=config.noise_scale if settings.noise is None else settings.noise,
            length=config.length_scale / settings.speed,
            noise_w=config.noise_w_scale if settings.noise_w is None else settings.noise_w,
            speaker=_speaker(config, settings.speaker),
        )
        self.rate: int = config.sample_rate

    @property
    def is_english(self) -> bool:
        """Whether numbers and names are read as English."""
        return str(self.config.espeak_voice).startswith("en")

    @classmethod
    def load(cls, path: Path, settings: VoiceSettings) -> "PiperModel":
        """Read the .onnx.json of `path`, a .onnx file.

        Raises:
            ModelError: piper-tts is not installed, or the file is missing, broken or not Piper's.
            ConfigError: the voice has no such speaker.
        """
        try:
            import piper
        except ImportError as error:
            raise ModelError(
                f"Piper voices need piper-tts ({error})", "pip install 'voxring[local]'"
            ) from error
        config = _read_config(path.with_name(f"{path.name}.json"), piper.PiperConfig)
        if not path.is_file():
            raise ModelError(f"{path} does not exist", REMEDY)
        return cls(path, config, Speller(piper.PiperVoice(session=None, config=config)), settings)


def find_voice(place: Path) -> Path:
    """The voice that `place` is, or holds.

    Raises:
        ModelError: there is none, or more than one.
    """
    if place.is_file():
        return place
    found = sorted(place.glob("*.onnx"))
    if len(found) != 1:
        raise ModelError(
            f"{place} holds {len(found)} .onnx files, expected one Piper voice",
            "Set tts.model to the .onnx file of a voice",
        )
    return found[0]


class _Values(BaseModel):
    """What a voice may say of itself; piper-tts takes anything, and fails where it uses it."""

    model_config = ConfigDict(strict=True, from_attributes=True)
    num_symbols: int = Field(ge=1)
    num_speakers: int = Field(ge=0)
    sample_rate: int = Field(ge=1, le=384_000)
    phoneme_id_map: dict[str, list[int]] = Field(min_length=1)
    speaker_id_map: dict[str, int]
    length_scale: float = Field(gt=0, le=10)
    noise_scale: float = Field(ge=0, le=10)
    noise_w_scale: float = Field(ge=0, le=10)


def _read_config(path: Path, kind: Any) -> Any:
    try:
        config = kind.from_dict(json.loads(path.read_text(encoding="utf-8")))
        _Values.model_validate(config)
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist", REMEDY) from None
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc']))} is {first['input']!r}: {first['msg']}"
        raise ModelError(f"{path} is not the JSON of a Piper voice: {what}", REMEDY) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path} is not the JSON of a Piper voice: {error!r}", REMEDY) from error
    return config


def _speaker(config: Any, speaker: int) -> int:
    if not 0 <= speaker < max(config.num_speakers, 1):
        names = ", ".join(config.speaker_id_map) or "none"
        raise ConfigError(
            f"the voice has no speaker {speaker}; it has {config.num_speakers}, named: {names}",
            "Set tts.speaker to a smaller number",
        )
    return speaker
