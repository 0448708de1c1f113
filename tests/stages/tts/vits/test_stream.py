from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.tts.vits.graphs import Floats, Prior, Shape
from stages.tts.vits.stream import SentenceStream

CHANNELS = 2


@dataclass
class FakeGraphs:
    """Sums over the reach of a frame: whatever it sees too much or too little changes the sum.

    Args:
        hindsight: a phoneme lasts as many frames longer as phonemes are known behind it, up to it.
    """

    flow_reach: int = 3
    decoder_reach: int = 2
    hindsight: int = 0
    noise: float = 1.0
    widths: list[int] = field(default_factory=list)  # of the decoder's windows

    def __post_init__(self) -> None:
        self.shape = Shape(
            channels=CHANNELS,
            hop=4,
            flow_reach=self.flow_reach,
            decoder_reach=self.decoder_reach,
            masks=1,
            channels_first=(True, True),
        )

    def text(self, ids: np.ndarray, noise: Floats) -> Prior:
        assert noise.shape == (2, len(ids))
        behind = np.arange(len(ids))[::-1]
        durations = 1 + ids % 4 + np.minimum(behind, self.hindsight)
        means = np.stack([ids, -ids]).astype(np.float32)
        return Prior(durations, means, np.zeros_like(means))

    def flow(self, latents: Floats) -> Floats:
        return window_sum(latents, self.flow_reach)

    def decode(self, frames: Floats) -> Floats:
        self.widths.append(frames.shape[1])
        return np.repeat(window_sum(frames, self.decoder_reach)[0], self.shape.hop)


def window_sum(values: Floats, reach: int) -> Floats:
    padded = np.pad(values.astype(np.float64), [(0, 0), (reach, reach)])
    sums = [padded[:, n : n + values.shape[1]] for n in range(2 * reach + 1)]
    return np.sum(sums, axis=0).astype(np.float32)


def at_once(graphs: FakeGraphs, ids: list[int]) -> Floats:
    stream = SentenceStream(graphs, key=3)
    stream.look(ids)
    stream.promise(0, whole=True)
    return stream.decode(stream.ready)


SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=6)
IDS = st.lists(st.integers(0, 50), min_size=1, max_size=30)


@settings(max_examples=60)
@given(IDS, SIZES, st.integers(0, 5), st.integers(0, 5))
def test_windows_join_to_the_whole(
    ids: list[int], sizes: list[int], flow_reach: int, decoder_reach: int
) -> None:
    graphs = FakeGraphs(flow_reach, decoder_reach)
    stream = SentenceStream(graphs, key=3)
    stream.look(ids)
    stream.promise(0, whole=True)
    pieces, at = [], 0
    while not stream.is_over:
        pieces.append(stream.decode(sizes[at % len(sizes)]))
        at += 1
    assert np.allclose(np.concatenate(pieces), at_once(graphs, ids), atol=1e-4)
    assert stream.ends[-1] == sum(map(len, pieces))
    assert max(graphs.widths[:-1], default=0) <= max(sizes) + 2 * decoder_reach


@settings(max_examples=60)
@given(IDS, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30))), SIZES)
def test_growing_with_enough_to_its_right_gives_the_whole(
    ids: list[int], steps: list[tuple[int, int]], sizes: list[int]
) -> None:
    """What is known beyond the firm phonemes covers the flow's reach: nothing can differ."""
    graphs = FakeGraphs()
    stream = SentenceStream(graphs, key=3)
    pieces, known = [], 0
    for more, size in steps:
        known = min(known + more, len(ids))
        firm = known - graphs.flow_reach - graphs.decoder_reach
        if firm > stream.firm:
            stream.look(ids[:known])
            stream.promise(firm, whole=False)
        pieces.append(stream.decode(size))
    stream.look(ids)
    stream.promise(0, whole=True)
    while not stream.is_over:
        pieces.append(stream.decode(sizes[0]))
    assert np.allclose(np.concatenate(pieces), at_once(graphs, ids), atol=1e-4)


@settings(max_examples=60)
@given(IDS, st.lists(st.integers(1, 8), min_size=30, max_size=30), st.integers(0, 4))
def test_what_was_promised_is_kept(ids: list[int], steps: list[int], hindsight: int) -> None:
    """Even if the voice thinks otherwise once it knows more."""
    graphs = FakeGraphs(hindsight=hindsight)
    stream = SentenceStream(graphs, key=3)
    known, said = 0, np.zeros(0, np.float32)
    for step in steps:
        known = min(known + step, len(ids))
        before = list(stream.ends)
        stream.look(ids[:known])
        stream.promise(max(known - 2, stream.firm), whole=known == len(ids))
        assert stream.ends[: len(before)] == before
        said = np.concatenate([said, stream.decode(step)])
        if known == len(ids):
            break
    while not stream.is_over:
        said = np.concatenate([said, stream.decode(7)])
    # The decoder, in windows, has made of the kept frames what it makes of them at once.
    assert np.allclose(said, graphs.decode(stream._frames), atol=1e-4)
    assert stream.ends[-1] == len(said)


def test_the_decoder_waits_for_what_it_reaches() -> None:
    stream = SentenceStream(FakeGraphs(decoder_reach=5), key=0)
    stream.look([3, 3, 3])
    assert stream.ready_with(2) == 3
    stream.promise(2, whole=False)  # 4 frames each
    assert stream.ready == 8 - 5
    stream.look([3, 3, 3])
    stream.promise(3, whole=True)
    assert stream.ready == 12
    assert not stream.is_over
    stream.decode(100)
    assert stream.is_over


def test_no_more_is_decoded_than_is_ready() -> None:
    stream = SentenceStream(FakeGraphs(), key=0)
    assert len(stream.decode(10)) == 0
    stream.look([1, 2])
    stream.promise(1, whole=False)
    assert len(stream.decode(10)) == stream.ready * 4 == 0


@pytest.mark.parametrize("key", [0, 1])
def test_another_key_is_another_noise(key: int) -> None:
    def sound(key: int) -> Floats:
        stream = SentenceStream(FakeGraphs(), key)
        stream.look([1, 2, 3])
        stream.promise(0, whole=True)
        return stream.decode(100)

    assert np.array_equal(sound(key), sound(key))
    assert not np.array_equal(sound(key), sound(key + 1))
