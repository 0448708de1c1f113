"""A listener who begins with the first sound does not run dry, on the clock of a busy core."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.tokenizer import ByteVocabulary
from stages.tts.front import Front
from stages.tts.pace import SECOND
from stages.tts.sound import Rests
from stages.tts.streaming import StreamingUtterance, StreamRules
from stages.tts.vits.graphs import Floats, Prior
from tests.stages.tts.letters import RATE, LetterGraphs, LetterVoice

HOP = 93  # samples: a frame lasts 11.6 ms, as that of the shipped voice, whose reaches these are
LETTER = 6  # frames
LOOK_S, WINDOW_S, FRAME_S = 0.018, 0.012, 0.0011  # what they cost on one core
WORD_S = 0.05  # words come at 20 a second
END = 1 << 62


class Core:
    """A clock that goes on only while something is computed, or is waited for."""

    def __init__(self) -> None:
        self.ns = 0

    def now(self) -> int:
        return self.ns

    def spend(self, seconds: float) -> None:
        self.ns += round(seconds * SECOND)


class CostlyGraphs(LetterGraphs):
    shape = replace(LetterGraphs.shape, hop=HOP, flow_reach=32, decoder_reach=11)

    def __init__(self, core: Core) -> None:
        super().__init__()
        self._core = core

    def text(self, ids: np.ndarray, noise: Floats) -> Prior:
        self._core.spend(LOOK_S)
        return replace(super().text(ids, noise), durations=np.full(len(ids), LETTER))

    def decode(self, frames: Floats) -> Floats:
        self._core.spend(WINDOW_S + FRAME_S * frames.shape[1])
        super().decode(frames)
        return np.repeat(frames[0], HOP)


class CostlyVoice(LetterVoice):
    hop = HOP

    def __init__(self, core: Core) -> None:
        self.graphs = CostlyGraphs(core)


def gaps(words: list[str]) -> list[float]:
    """Seconds by which pieces came too late, if there is a word every `WORD_S`."""
    core = Core()
    utterance = StreamingUtterance(
        Front(ByteVocabulary()), CostlyVoice(core), StreamRules(), Rests(), core.now
    )
    dry, late = 0, list[float]()

    def run(until: int) -> None:
        nonlocal dry
        while core.ns < until:
            if sound := utterance.more():
                if dry and core.ns > dry:
                    late.append((core.ns - dry) / SECOND)
                dry = max(dry, core.ns) + len(sound.samples) * SECOND // RATE
            elif until == END:
                return
            else:
                core.ns = until if utterance.due is None else min(until, utterance.due)

    position = 0
    for number, word in enumerate(words):
        run(round(number * WORD_S * SECOND))
        for id in (f" {word}" if number else word).encode():
            utterance.feed(id, position)
            position += 1
    run(round(len(words) * WORD_S * SECOND))
    utterance.end(complete=True)
    run(END)
    return late


def words_of(lengths: list[int]) -> list[str]:
    return ["abcdefghi"[:length] for length in lengths]


@pytest.mark.parametrize("first", [[1, 1, 1], [1, 2, 4], [2, 1, 1], [1, 1, 4, 4]])
def test_short_first_words_leave_no_gap(first: list[int]) -> None:
    """ "When the first snow fell": what was said of two words was over before the next was made."""
    assert gaps(words_of([*first, *[4] * 8])) == []


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=16))
def test_no_words_leave_a_gap_if_they_come_sooner_than_they_are_said(lengths: list[int]) -> None:
    assert gaps(words_of(lengths)) == []
