"""Smart Turn: hears from the last 8 s of sound whether the speaker has finished their turn."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ModelError
from stages.mel import FFT, HOP, Floats, log_mel, mel_filters, scaled
from stages.turn.onnx import load_onnx

RATE = 16_000
"""Samples a second that the model was trained on."""
REACH = 8 * RATE
"""Samples that it hears; what came before them does not count."""

_MELS = 80
_TAKES: dict[str, list[int | str]] = {"input_features": [_MELS, REACH // HOP]}
_QUIETEST = np.float32(1e-7)  # added to the variance: silence stays silence
_REMEDY = "Run: voxring models fetch smart-turn-v3.2"


class SmartTurn:
    """The loaded model. It remembers nothing: all conversations share it.

    The file is `smart-turn-v3.2-cpu.onnx` of pipecat-ai (BSD-2-Clause): a Whisper tiny encoder with
    a classifier behind it, 8 bit. It judges the voice, not the words, in 23 languages.

    Args:
        path: the ONNX file.
        threads: threads of one call.

    Raises:
        ModelError: the file is missing, is no ONNX model, or is another model.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        self._session = load_onnx(path, "end-of-turn model", _REMEDY, threads)
        found = {node.name: node.shape[1:] for node in self._session.get_inputs()}
        if found != _TAKES:
            raise ModelError(
                f"{path} takes {_inputs(found)}, Smart Turn v3 takes {_inputs(_TAKES)}",
                _REMEDY,
            )
        self._filters = mel_filters(_MELS)

    def probability(self, samples: NDArray[np.int16] | Floats) -> float:
        """Give the probability (0 to 1) that the turn is over at the end of `samples`.

        Args:
            samples: int16, or float32 in -1 to 1, [n] at 16 kHz: what was said, and the silence
                since. The last 8 s count; where there are fewer, silence is put in front.
        """
        shown = features(samples, self._filters)[None]  # [1, 80, 800]
        return float(self._session.run(None, {"input_features": shown})[0][0, 0])


def features(samples: NDArray[np.int16] | Floats, filters: Floats) -> Floats:
    """What the model is shown: the spectrogram of the last 8 s, at one loudness.

    The numbers are those of transformers' WhisperFeatureExtractor with `do_normalize`, given the
    8 s that pipecat gives it.

    Args:
        samples: as for `SmartTurn.probability`.
        filters: float32 [80, 201], `mel_filters(80)`.

    Returns:
        float32 [80, 800].
    """
    heard = samples[-REACH:]
    sound = np.zeros(REACH, np.float32)
    sound[REACH - heard.size :] = heard / np.float32(32768 if heard.dtype == np.int16 else 1)
    # The silence in front counts here too: so the model was trained.
    sound = (sound - sound.mean()) / np.sqrt(sound.var() + _QUIETEST)
    reach = np.pad(sound, FFT // 2, mode="reflect")[:-HOP]  # the last frame is not shown
    return scaled(log_mel(reach, filters))


def _inputs(shapes: dict[str, list[int | str]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items())) or "nothing"
