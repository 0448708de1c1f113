"""Voices of coqui-tts: VITS, and XTTS with its streaming. Needs an interpreter that has it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from pipeline.errors import ModelError
from stages.tts.clausewise import Piece, TextVoice
from stages.tts.edges import Edges, trim
from stages.tts.sound import to_int16

_REMEDY = "Name a folder with a coqui-tts model: its config.json and its checkpoint (.pth)"


class CoquiOptions(BaseModel):
    """Options of a coqui voice.

    Attributes:
        speaker: name of a speaker of the model; empty: its only one.
        speaker_wav: recordings of the voice that XTTS is to imitate, instead of a speaker.
        language: of a model with several.
        chunk: XTTS tokens of a piece of sound; 20 are 0.9 s.
        seed: of what the model draws.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    speaker: str = ""
    speaker_wav: tuple[str, ...] = ()
    language: str = "en"
    chunk: int = Field(20, ge=5, le=200)
    seed: int = 0


def load_coqui(folder: Path, options: CoquiOptions, speed: float, volume: float) -> TextVoice:
    """The voice in a folder.

    Raises:
        ModelError: coqui-tts is not installed, the folder holds no model of it, or no such speaker.
    """
    try:
        import torch
        from TTS.config import load_config
    except (ImportError, OSError) as error:
        raise ModelError(
            f"Coqui voices need coqui-tts ({error})",
            "Set tts.python to an interpreter that has voxring[coqui]; docs/tts.md says how",
        ) from error
    torch.manual_seed(options.seed)
    path = folder / "config.json"
    if not path.is_file():
        raise ModelError(f"{path} does not exist", _REMEDY)
    try:
        config = load_config(path)
        if config.model == "xtts":
            return XttsVoice.load(folder, config, options, speed, volume)
        return VitsVoice.load(folder, options, speed, volume)
    except ModelError:
        raise
    except Exception as error:  # NOTE: coqui-tts raises whatever its libraries do
        raise ModelError(f"{folder} cannot be loaded: {error!r}", _REMEDY) from error


class VitsVoice:
    """A VITS (or another one-pass) model: a clause at once.

    Args:
        synthesizer: a `TTS.utils.synthesizer.Synthesizer`.
        options: speaker and language.
        volume: factor on the samples.
    """

    def __init__(self, synthesizer: Any, options: CoquiOptions, volume: float) -> None:
        self.rate = int(synthesizer.tts_config.audio["sample_rate"])
        self._synthesizer = synthesizer
        self._volume = np.float32(volume)
        model = synthesizer.tts_model
        self._choice: dict[str, str] = {}
        if options.speaker:
            self._choice["speaker_name"] = _known(options.speaker, _names(model.speaker_manager))
        if _names(model.language_manager):
            languages = _names(model.language_manager)
            self._choice["language_name"] = _known(options.language, languages)

    @classmethod
    def load(cls, folder: Path, options: CoquiOptions, speed: float, volume: float) -> "VitsVoice":
        """Load the only checkpoint of a folder."""
        from TTS.utils.synthesizer import Synthesizer

        found = sorted(folder.glob("*.pth"))
        checkpoints = [path for path in found if "speakers" not in path.name]
        if len(checkpoints) != 1:
            raise ModelError(
                f"{folder} holds {len(checkpoints)} checkpoints, expected one", _REMEDY
            )
        synthesizer = Synthesizer(
            tts_checkpoint=checkpoints[0], tts_config_path=folder / "config.json"
        )
        if hasattr(synthesizer.tts_model, "length_scale"):
            synthesizer.tts_model.length_scale /= speed
        return cls(synthesizer, options, volume)

    def pieces(self, text: str) -> Iterator[Piece]:
        """The sound of a clause."""
        sound = self._synthesizer.tts(text, split_sentences=False, **self._choice)
        samples = to_int16(trim(np.asarray(sound, np.float32) * self._volume, self.rate))
        if len(samples):
            yield samples, True


class XttsVoice:
    """XTTS: a clause in pieces, each while the next is being made.

    Args:
        model: a `TTS.tts.models.xtts.Xtts`.
        voice: what it is conditioned on: (latents, speaker embedding).
        options: language and length of a piece.
        speed, volume: factors.
    """

    def __init__(
        self,
        model: Any,
        voice: tuple[Any, Any],
        options: CoquiOptions,
        speed: float,
        volume: float,
    ) -> None:
        self.rate = int(model.config.audio.output_sample_rate)
        self._model = model
        self._voice = voice
        self._options = options
        self._speed = speed
        self._volume = volume

    @classmethod
    def load(
        cls, folder: Path, config: Any, options: CoquiOptions, speed: float, volume: float
    ) -> "XttsVoice":
        """Load the model of a folder and the voice that it is to have."""
        from TTS.tts.models.xtts import Xtts

        model = Xtts(config)
        model.load_checkpoint(config, checkpoint_dir=folder, eval=True)
        return cls(model, _conditioning(model, options), options, speed, volume)

    def pieces(self, text: str) -> Iterator[Piece]:
        """The sound of a clause, as it is made."""
        edges = Edges(self.rate)
        chunks = self._model.inference_stream(
            text,
            self._options.language,
            *self._voice,
            stream_chunk_size=self._options.chunk,
            speed=self._speed,
        )
        for chunk in chunks:
            sound = chunk.detach().cpu().numpy().reshape(-1).astype(np.float32)
            samples = edges.feed(sound)[1]
            if len(samples):
                yield self._finished(samples), False
        samples = edges.finish()[1]
        if len(samples):
            yield self._finished(samples), True

    def _finished(self, samples: NDArray[np.float32]) -> NDArray[np.int16]:
        return to_int16(samples * np.float32(self._volume))


def _conditioning(model: Any, options: CoquiOptions) -> tuple[Any, Any]:
    if options.speaker_wav:
        for path in options.speaker_wav:
            if not Path(path).is_file():
                raise ModelError(f"{path} does not exist", "Check tts.options.speaker_wav")
        latents, embedding = model.get_conditioning_latents(audio_path=list(options.speaker_wav))
        return latents, embedding
    names = _names(model.speaker_manager)
    if not options.speaker:
        raise ModelError("XTTS needs a voice", "Set tts.options.speaker or speaker_wav")
    speaker = model.speaker_manager.speakers[_known(options.speaker, names)]
    return speaker["gpt_cond_latent"], speaker["speaker_embedding"]


def _names(manager: Any) -> list[str]:
    """Names of speakers or languages; none if the model has no choice."""
    ids = getattr(manager, "name_to_id", None) or getattr(manager, "speakers", None) or {}
    return list(ids)


def _known(name: str, names: list[str]) -> str:
    if name not in names:
        known = ", ".join(names[:10]) or "none"
        raise ModelError(f"the voice has no {name!r}; it has: {known}", "Check tts.options")
    return name
