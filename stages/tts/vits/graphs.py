"""The three graphs of a split voice, on a fixed number of threads. They keep no state."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Inputs = dict[str, NDArray[Any]]

PARTS = ("text", "flow", "decoder")
SHAPE = "shape.json"


@dataclass(frozen=True)
class Shape:
    """What is known of a split voice besides its graphs.

    Attributes:
        channels: of latents and frames.
        hop: samples a frame.
        flow_reach: latents to each side on which a frame depends.
        decoder_reach: frames to each side on which a sample depends.
        masks: how many masks the flow takes.
        channels_first: how the text graph writes means and logarithms.
    """

    channels: int
    hop: int
    flow_reach: int
    decoder_reach: int
    masks: int
    channels_first: tuple[bool, bool]

    @classmethod
    def read(cls, folder: Path) -> "Shape":
        """The shape of the voice that was split into `folder`."""
        raw = json.loads((folder / SHAPE).read_text(encoding="utf-8"))
        return cls(**{**raw, "channels_first": tuple(raw["channels_first"])})


@dataclass(frozen=True)
class Style:
    """How the voice speaks.

    Attributes:
        noise: variation of the sound.
        length: factor on all durations.
        noise_w: variation of the durations.
        speaker: of a voice with several.
    """

    noise: float = 0.667
    length: float = 1.0
    noise_w: float = 0.8
    speaker: int = 0

    def inputs(self) -> Inputs:
        """As a graph takes them, by name."""
        return {
            "scales": np.array([self.noise, self.length, self.noise_w], np.float32),
            "sid": np.array([self.speaker], np.int64),
        }


@dataclass(frozen=True)
class Prior:
    """What the text graph says of each phoneme.

    Attributes:
        durations: int64 [phonemes], frames.
        means, logs: float32 [channels, phonemes].
    """

    durations: NDArray[np.int64]
    means: Floats
    logs: Floats

    def __getitem__(self, span: slice) -> "Prior":
        return Prior(self.durations[span], self.means[:, span], self.logs[:, span])

    def __add__(self, other: "Prior") -> "Prior":
        return Prior(
            np.concatenate([self.durations, other.durations]),
            np.concatenate([self.means, other.means], axis=1),
            np.concatenate([self.logs, other.logs], axis=1),
        )

    @classmethod
    def empty(cls, channels: int) -> "Prior":
        """Of no phoneme."""
        nothing = np.zeros((channels, 0), np.float32)
        return cls(np.zeros(0, np.int64), nothing, nothing)

    @property
    def frames(self) -> int:
        """How many frames all phonemes take."""
        return int(self.durations.sum())

    def latents(self, noise: Floats, scale: float) -> Floats:
        """Mean + noise * deviation * scale, spread over the frames; float32 [channels, frames].

        Args:
            noise: float32 [channels, frames].
        """
        means, logs = (np.repeat(part, self.durations, axis=1) for part in (self.means, self.logs))
        latents: Floats = means + noise * np.exp(logs) * np.float32(scale)
        return latents


class VitsGraphs:
    """A split voice.

    Args:
        sessions: text, flow and decoder.
        shape: the voice's.
        style: how it speaks.
    """

    def __init__(self, sessions: tuple[Any, Any, Any], shape: Shape, style: Style) -> None:
        self.shape = shape
        self.noise = style.noise
        self._sessions = sessions
        self._given = [taken(session, style.inputs()) for session in sessions]

    @classmethod
    def open(cls, folder: Path, shape: Shape, style: Style, threads: int) -> "VitsGraphs":
        """Load what `split` wrote into `folder`."""
        text, flow, decoder = (open_session(folder / f"{part}.onnx", threads) for part in PARTS)
        return cls((text, flow, decoder), shape, style)

    def text(self, ids: NDArray[np.int64], noise: Floats) -> Prior:
        """What the voice makes of some phonemes.

        Args:
            ids: int64 [phonemes].
            noise: float32 [2, phonemes], of the durations.
        """
        session = self._sessions[0]
        text = taken(session, text_inputs(ids) | {"noise": noise[None]})
        durations, means, logs = session.run(["durations", "means", "logs"], self._given[0] | text)
        first = self.shape.channels_first
        return Prior(
            durations.reshape(-1).astype(np.int64),
            means[0] if first[0] else means[0].T,
            logs[0] if first[1] else logs[0].T,
        )

    def flow(self, latents: Floats) -> Floats:
        """Frames of some latents; float32 [channels, frames] both."""
        ones = np.ones((1, 1, latents.shape[1]), np.float32)
        masks = {f"mask{number}": ones for number in range(self.shape.masks)}
        frames = self._sessions[1].run(
            ["frames"], self._given[1] | masks | {"latents": latents[None]}
        )
        return frames[0][0]  # type: ignore[no-any-return]

    def decode(self, frames: Floats) -> Floats:
        """Samples of some frames, float32 [frames * hop]."""
        samples = self._sessions[2].run(["samples"], self._given[2] | {"frames": frames[None]})
        return samples[0].reshape(-1)  # type: ignore[no-any-return]


def text_inputs(ids: NDArray[np.int64]) -> Inputs:
    """Phonemes as a graph takes them."""
    return {"input": ids[None], "input_lengths": np.array([len(ids)], np.int64)}


def taken(session: Any, inputs: Inputs) -> Inputs:
    """Those that a graph takes."""
    names = {node.name for node in session.get_inputs()}
    return {name: value for name, value in inputs.items() if name in names}


def open_session(model: Path | bytes, threads: int) -> Any:
    """An ONNX Runtime session on the CPU that does not spin."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # It would keep a plan of memory for every length that was ever seen, and lengths always differ.
    options.enable_mem_pattern = False
    # A spinning pool burns 50 ms of CPU a call that the other stages need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
