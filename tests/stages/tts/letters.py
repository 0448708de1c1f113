"""A growing voice without a model: a phoneme is a letter, and lasts two frames of four samples."""

import numpy as np

from stages.tts.vits.graphs import Floats, Prior, Shape
from stages.tts.vits.stream import SentenceStream

HOP, FRAMES = 40, 2  # samples a frame, frames a phoneme
RATE = 8000  # a phoneme lasts 10 ms


class LetterGraphs:
    """Each sample is a hundredth of its phoneme's id; a blank is silent."""

    noise = 0.0
    shape = Shape(
        channels=1, hop=HOP, flow_reach=2, decoder_reach=1, masks=0, channels_first=(True, True)
    )

    def __init__(self) -> None:
        self.looks: list[str] = []
        self.decoded: list[int] = []

    def text(self, ids: np.ndarray, noise: Floats) -> Prior:
        self.looks.append("".join(map(chr, ids[1:-1])))
        means = np.where(ids == ord(" "), 0, ids)[None].astype(np.float32) / 100
        return Prior(np.full(len(ids), FRAMES), means, np.zeros_like(means))

    def flow(self, latents: Floats) -> Floats:
        return latents

    def decode(self, frames: Floats) -> Floats:
        self.decoded.append(frames.shape[1])
        return np.repeat(frames[0], HOP)


class LetterVoice:
    """Says letters, digits and some punctuation."""

    rate = RATE
    hop = HOP
    volume = 0.01

    def __init__(self) -> None:
        self.graphs = LetterGraphs()

    def phonemes(self, text: str) -> list[str]:
        return [char for char in " ".join(text.split()) if char.isalnum() or char in " .,?"]

    def encode(self, groups: list[list[str]]) -> tuple[list[int], list[int]]:
        ids, ends = [0], [1]
        for group in groups:
            ids += map(ord, group)
            ends.append(len(ids))
        return [*ids, 0], ends

    def begin(self, key: int) -> SentenceStream:
        return SentenceStream(self.graphs, key)
