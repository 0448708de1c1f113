"""A Piper voice as it comes: text to sound, one clause at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ModelError
from stages.tts.clausewise import Piece
from stages.tts.edges import trim
from stages.tts.piper_model import REMEDY, PiperModel
from stages.tts.sound import to_int16
from stages.tts.speller import is_sayable
from stages.tts.vits.graphs import open_session, taken, text_inputs

_INPUTS = {"input", "input_lengths", "scales"}
_REST_S = 0.1  # between two sentences of one clause


class PiperVoice:
    """One loaded voice; it has no state between clauses, so every lane may use it.

    Args:
        model: its files.
        session: its graph.
    """

    def __init__(self, model: PiperModel, session: Any) -> None:
        self.rate = model.rate
        self._speller = model.speller
        self._volume = np.float32(model.settings.volume)
        self._session = session
        self._given = taken(session, model.style.inputs())

    @classmethod
    def load(cls, model: PiperModel) -> "PiperVoice":
        """Load the graph.

        Raises:
            ModelError: it is broken or not Piper's.
        """
        return cls(model, _open(model.path, model.settings.threads))

    def pieces(self, text: str) -> Iterator[Piece]:
        """Sound of one clause, in one piece."""
        if len(samples := self.synthesise(text)):
            yield samples, True

    def synthesise(self, text: str) -> NDArray[np.int16]:
        """Sound of one clause at `rate`, int16 mono, without silence around it."""
        rest = np.zeros(round(_REST_S * self.rate), np.int16)
        parts: list[NDArray[np.int16]] = []
        for phonemes in self._speller.sentences(text):  # espeak-ng may see several
            if len(sound := self._say(phonemes)):
                parts += [rest, sound] if parts else [sound]
        return np.concatenate(parts) if parts else np.zeros(0, np.int16)

    def _say(self, phonemes: list[str]) -> NDArray[np.int16]:
        if not is_sayable(phonemes):
            return np.zeros(0, np.int16)
        ids = np.array(self._speller.ids(phonemes), np.int64)
        result = self._session.run(None, self._given | text_inputs(ids))
        sound: NDArray[np.float32] = result[0].reshape(-1)
        return to_int16(trim(sound * self._volume, self.rate))


def _open(path: Path, threads: int) -> Any:
    try:
        session = open_session(path, threads)
    except Exception as error:  # NOTE: ONNX Runtime's own errors share no public base class
        raise ModelError(f"{path} cannot be loaded: {error}", REMEDY) from error
    inputs = {node.name for node in session.get_inputs()}
    if not inputs >= _INPUTS:
        raise ModelError(
            f"{path} is not a Piper voice: it takes {sorted(inputs)}, not {sorted(_INPUTS)}", REMEDY
        )
    return session
