"""One sentence of a VITS voice, synthesised while its phonemes become known.

The text graph looks at the whole sentence, so what it says of a phoneme changes as the text grows.
Each time, its word on the phonemes that are firm (enough is known behind them) is kept for good;
the others are only a preview, which the flow needs to their left. Frames, once computed, are kept
too. The decoder sees kept frames only, with as many to each side as it reaches, so that its windows
join as if the whole had been decoded at once: there is no seam to hide.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stages.tts.vits.graphs import Floats, Prior, Shape
from stages.tts.vits.noise import normal

# Frames that the flow makes at once if all latents are known: in narrower pieces ONNX Runtime adds
# in another order, which is heard nowhere but differs from the whole by 4e-5 instead of 2e-6.
FLOW_STRIDE = 64


class Graphs(Protocol):
    """See `VitsGraphs`."""

    shape: Shape
    noise: float

    def text(self, ids: NDArray[np.int64], noise: Floats) -> Prior: ...  # noqa: D102
    def flow(self, latents: Floats) -> Floats: ...  # noqa: D102
    def decode(self, frames: Floats) -> Floats: ...  # noqa: D102


class SentenceStream:
    """Phonemes in, samples out.

    Args:
        graphs: shared, without state.
        key: of the noise.

    Attributes:
        ends: for each firm phoneme, the sample at which it ends.
    """

    def __init__(self, graphs: Graphs, key: int) -> None:
        self._graphs = graphs
        self._shape = graphs.shape
        self._keys = (2 * key, 2 * key + 1)  # of durations and latents
        self._ids = np.zeros(0, np.int64)
        self._prior = Prior.empty(self._shape.channels)  # of those that are not firm
        self._latents = np.zeros((self._shape.channels, 0), np.float32)  # kept
        self._preview = self._latents  # of what follows
        self._frames = self._latents  # kept
        self._decoded = 0  # frames
        self._is_whole = False
        self.ends: list[int] = []

    @property
    def firm(self) -> int:
        """How many phonemes are firm."""
        return len(self.ends)

    def look(self, ids: list[int]) -> None:
        """Let the voice see all phonemes that are known.

        Args:
            ids: the firm ones as they were, because they are spoken for.
        """
        self._ids = np.array(ids, np.int64)
        noise = normal(self._keys[0], 0, len(ids), 2)
        self._prior = self._graphs.text(self._ids, noise)[self.firm :]

    def ready_with(self, firm: int) -> int:
        """How many frames could be decoded if the first `firm` phonemes were promised now."""
        frames = self._latents.shape[1] + self._prior[: firm - self.firm].frames
        return max(frames - self._shape.decoder_reach - self._decoded, 0)

    def promise(self, firm: int, *, whole: bool) -> None:
        """Keep what was seen of the first `firm` phonemes, no fewer than before.

        Args:
            whole: nothing follows; then all are kept.
        """
        firm = len(self._ids) if whole else firm
        count = firm - self.firm
        self._keep(self._prior[:count])
        self._prior = self._prior[count:]
        self._preview = self._draw(self._prior, self._latents.shape[1])
        self._is_whole = whole

    @property
    def ready(self) -> int:
        """How many frames can be decoded now."""
        frames = self._latents.shape[1]
        reach = 0 if self._is_whole else self._shape.decoder_reach
        return max(frames - reach - self._decoded, 0)

    @property
    def is_over(self) -> bool:
        """All of the sentence was decoded."""
        return self._is_whole and self._decoded == self._latents.shape[1]

    def decode(self, count: int) -> Floats:
        """The next `count` frames (at most those that are ready) as samples."""
        reach, first = self._shape.decoder_reach, self._decoded
        last = first + min(count, self.ready)
        start, stop = max(first - reach, 0), min(last + reach, self._latents.shape[1])
        self._flow_to(stop)
        samples = self._graphs.decode(self._frames[:, start:stop])
        self._decoded = last
        hop = self._shape.hop
        return samples[(first - start) * hop : (last - start) * hop]

    def _keep(self, prior: Prior) -> None:
        before = self._latents.shape[1]
        self._latents = np.concatenate([self._latents, self._draw(prior, before)], axis=1)
        ends = (before + np.cumsum(prior.durations)) * self._shape.hop
        self.ends += ends.tolist()

    def _draw(self, prior: Prior, first: int) -> Floats:
        noise = normal(self._keys[1], first, prior.frames, self._shape.channels)
        return prior.latents(noise, self._graphs.noise)

    def _flow_to(self, stop: int) -> None:
        """Compute and keep the frames before `stop`."""
        first, reach = self._frames.shape[1], self._shape.flow_reach
        if stop <= first:
            return
        if self._is_whole:  # nothing will be known better later
            stop = max(stop, min(first + FLOW_STRIDE, self._latents.shape[1]))
        start = max(first - reach, 0)
        known = np.concatenate([self._latents, self._preview], axis=1)
        fresh = self._graphs.flow(known[:, start : stop + reach])
        self._frames = np.concatenate(
            [self._frames, fresh[:, first - start : stop - start]], axis=1
        )
