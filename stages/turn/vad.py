"""Silero's voice activity model: one window of sound in, the probability of speech out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ModelError
from stages.turn.onnx import load_onnx, open_onnx

RATE = 16_000
"""Samples a second that the model was trained on."""
WINDOW = 512
"""Samples of one decision: 32 ms."""

_CONTEXT = 64  # samples of the window before, put in front of each window
_HIDDEN = 128  # width of the recurrent layer
_INPUTS = {"input", "h", "c"}
_REMEDY = "Install faster-whisper again, which ships the file"


def _zeros() -> NDArray[np.float32]:
    return np.zeros((1, 1, _HIDDEN), np.float32)


@dataclass(slots=True)
class VadState:
    """What the model remembers of one session's sound; never shared, never reused for another."""

    hidden: NDArray[np.float32] = field(default_factory=_zeros)
    cell: NDArray[np.float32] = field(default_factory=_zeros)
    context: NDArray[np.float32] = field(default_factory=lambda: np.zeros(_CONTEXT, np.float32))


class SileroVad:
    """The loaded model, without any state of its own: all sessions share it.

    The file is the one in the faster-whisper wheel (`silero_vad_v6.onnx`, MIT). As it is, it reads
    windows of one stream in a row, so that a stream may catch up in one call, but not several
    streams. For those, one transposition in it is changed when it is loaded (`over_lanes`).

    Args:
        path: the ONNX file.
        threads: threads of one call; more than 1 gains nothing at this size.

    Raises:
        ModelError: the file is missing, is no ONNX model, or is another model.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        self._session = load_onnx(path, "voice activity model", _REMEDY, threads)
        found = {node.name for node in self._session.get_inputs()}
        if found != _INPUTS:
            raise ModelError(
                f"{path} takes {', '.join(sorted(found))}, a Silero VAD of version 6 takes "
                f"{', '.join(sorted(_INPUTS))}",
                _REMEDY,
            )
        self._path = path
        self._threads = threads
        self._over_lanes: Any = None  # made when several streams are judged for the first time

    def prepare_lanes(self) -> None:
        """Make what `judge` needs for several streams at once; it takes some tenths of a second."""
        if self._over_lanes is None:
            model = over_lanes(self._path)
            self._over_lanes = open_onnx(model, str(self._path), _REMEDY, self._threads)

    def judge(
        self, states: Sequence[VadState], windows: Sequence[NDArray[np.int16]]
    ) -> list[float]:
        """Judge one window of each of several streams in one call, and move their states past them.

        A result differs from that of `probability` by rounding alone (below 1e-5).

        Args:
            windows: int16 [512] each.
        """
        if len(states) == 1:
            return [self.probability(states[0], windows[0])]
        self.prepare_lanes()
        audio = np.stack(windows).astype(np.float32) / np.float32(32768)  # [lanes, 512]
        context = np.stack([state.context for state in states])
        feed = {
            "input": np.concatenate((context, audio), axis=1),
            "h": np.concatenate([state.hidden for state in states], axis=1),  # [1, lanes, 128]
            "c": np.concatenate([state.cell for state in states], axis=1),
        }
        probabilities, hidden, cell = self._over_lanes.run(None, feed)
        for lane, state in enumerate(states):
            state.hidden, state.cell = hidden[:, lane : lane + 1], cell[:, lane : lane + 1]
            state.context = audio[lane, -_CONTEXT:]
        found: list[float] = probabilities.tolist()
        return found

    def probability(self, state: VadState, window: NDArray[np.int16]) -> float:
        """Give the probability (0 to 1) that `window`, int16 [512] at 16 kHz, is speech."""
        return float(self.probabilities(state, window)[0])

    def probabilities(self, state: VadState, windows: NDArray[np.int16]) -> NDArray[np.float32]:
        """Judge windows that follow each other and the last call's, and move `state` past them.

        Args:
            state: of this stream.
            windows: int16 [n * 512] at 16 kHz, n at least 1.

        Returns:
            float32 [n].

        Raises:
            ValueError: not a whole number of windows.
        """
        if not windows.size or windows.size % WINDOW:
            raise ValueError(f"{windows.size} samples, expected a multiple of {WINDOW}")
        audio = windows.reshape(-1, WINDOW).astype(np.float32) / np.float32(32768)
        rows = np.empty((len(audio), _CONTEXT + WINDOW), np.float32)
        rows[:, _CONTEXT:] = audio
        rows[0, :_CONTEXT] = state.context
        rows[1:, :_CONTEXT] = audio[:-1, -_CONTEXT:]
        feed = {"input": rows, "h": state.hidden, "c": state.cell}
        probabilities: NDArray[np.float32]
        probabilities, state.hidden, state.cell = self._session.run(None, feed)
        state.context = audio[-1, -_CONTEXT:].copy()
        return probabilities


def over_lanes(path: Path) -> bytes:
    """The model with streams side by side where it has windows of one stream in a row.

    Before the recurrent layer, [windows, 128, 1] becomes [windows, 1, 128]: so many steps of one
    stream. Transposed to [1, windows, 128] it is one step of so many streams; all else stays.

    Raises:
        ModelError: it is built in another way.
    """
    import onnx

    model = onnx.load(str(path))
    (lstm,) = [node for node in model.graph.node if node.op_type == "LSTM"]
    before = [n for n in model.graph.node if lstm.input[0] in n.output and n.op_type == "Transpose"]
    if len(before) != 1 or list(before[0].attribute[0].ints) != [0, 2, 1]:
        raise ModelError(f"{path} is not built like Silero VAD of version 6", _REMEDY)
    before[0].attribute[0].ints[:] = [2, 0, 1]
    for value in (*model.graph.input, *model.graph.output):
        if value.name in ("h", "c", "hn", "cn"):
            value.type.tensor_type.shape.dim[1].dim_param = "lanes"
    return bytes(model.SerializeToString())
