"""Long and growing speech, with a model that reads words from the level of the sound."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.asr.guards import Decode
from stages.asr.listener import Listener, transcribe
from stages.asr.recogniser import finished
from stages.asr.window import RATE, SHORTEST
from stages.mel import HOP

WORD_S = 0.8
BLOCK = 512
HUSH = 0.0005


class Levels:
    """Hears a digit in each stretch of one level, 0.3 s or longer; a shorter one is a "?".

    Attributes:
        windows: samples of each window that was encoded.
    """

    def __init__(self) -> None:
        self.filters = np.ones((1, 201), np.float32)
        self.windows: list[int] = []
        self.doubt = 0  # so many decodes are doubtful

    def encode(self, features: np.ndarray) -> np.ndarray:
        self.windows.append(features.shape[1] * HOP)
        return features[0] * 4 - 4  # log10 of the power

    def generate(
        self, encoded: np.ndarray, samples: int, window: int, language: str = ""
    ) -> Decode:
        runs = self._runs(encoded)
        ids = tuple(digit(float(np.median(encoded[a:b]))) if b - a >= 30 else 10 for a, b in runs)
        self.doubt -= 1
        logprob = -3.0 if self.doubt >= 0 else -0.1
        return Decode(ids, self.spell(ids), logprob, 0.0, "en", window)

    def spell(self, ids: Sequence[int]) -> str:
        return "".join(f" {name('0123456789?'[id])}" for id in ids)

    def id_ends(self, encoded: np.ndarray, decode: Decode, samples: int) -> list[int]:
        return [min(end * HOP, samples) for _, end in self._runs(encoded)]

    def _runs(self, encoded: np.ndarray) -> list[tuple[int, int]]:
        loud = np.concatenate(([False], encoded > level(0) - 0.3, [False]))
        edges = np.flatnonzero(np.diff(loud.astype(int)))
        return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def amplitude(word: int) -> float:
    return 0.02 * 1.4**word


def level(word: int) -> float:
    """log10 of the power of a frame of that word: half the window's energy at its frequency."""
    return float(np.log10(amplitude(word) ** 2)) + 4.18


def digit(power: float) -> int:
    return round(float(np.clip((power - level(0)) / (2 * np.log10(1.4)), 0, 9)))


def speech(words: Sequence[int], gap_s: float = 0.08) -> np.ndarray:
    """A tone for each word, and nearly nothing between two."""
    tone = np.sin(2 * np.pi * 440 * np.arange(int(WORD_S * RATE)) / RATE)
    hush = np.full(int(gap_s * RATE), HUSH)
    parts = [part for word in words for part in (amplitude(word) * tone, hush)]
    return (np.concatenate([*parts, hush]) * 32767).astype(np.int16)


def stream(listener: Listener, sound: np.ndarray, step: int = 16) -> list[str]:
    """Hear a block after the other, with a decode each `step` blocks."""
    heard = []
    for number, start in enumerate(range(0, sound.size, BLOCK), 1):
        listener.hear(sound[start : start + BLOCK])
        if number % step == 0:
            heard.append(finished(listener.decode(final=False)).text)
    return heard


def spell(words: Sequence[int]) -> str:
    return " ".join(map(name, map(str, words)))


def name(digit: str) -> str:
    """As long as a real word: a decode with too few letters is not believed."""
    return digit * 6


def test_the_model_of_this_test_hears_its_digits() -> None:
    words = [0, 3, 9, 1, 5, 2, 8, 7, 6, 4]
    assert transcribe(Levels(), speech(words)).text == spell(words)


def test_growing_speech_is_heard_as_it_grows() -> None:
    listener = Listener(Levels())
    heard = stream(listener, speech([1, 2, 3, 4]), step=4)
    assert heard[:3] == [""] * 3  # nothing is guessed in the first half second
    assert spell([1, 2]) in heard
    assert finished(listener.decode(final=True)).text == spell([1, 2, 3, 4])


@pytest.mark.parametrize("gap_s", [0.08, 0.3])
def test_long_speech_loses_no_word_and_keeps_its_cost(gap_s: float) -> None:
    """Two minutes without a pause that is one, heard in windows that stay short."""
    words = [(7 * n + n // 10) % 10 for n in range(130)]
    model = Levels()
    listener = Listener(model)
    sound = speech(words, gap_s)
    seen = stream(listener, sound)
    assert finished(listener.decode(final=True)).text == spell(words)
    assert max(model.windows) <= 22 * RATE
    assert listener._mel.samples <= 21 * RATE
    assert max(len(line) for line in seen) <= len(spell(words))
    late = model.windows[len(model.windows) // 2 :]
    early = model.windows[60 : len(model.windows) // 2]
    assert np.mean(late) <= 1.1 * np.mean(early)


@given(st.lists(st.integers(0, 9), min_size=40, max_size=90), st.floats(0.04, 0.5))
@settings(max_examples=10)
def test_long_speech_given_at_once_is_cut_between_words(words: list[int], gap_s: float) -> None:
    assert transcribe(Levels(), speech(words, gap_s)).text == spell(words)


def test_sound_that_is_never_decoded_is_bounded() -> None:
    words = [n % 10 for n in range(100)]
    listener = Listener(Levels())
    sound = speech(words)
    for start in range(0, sound.size, BLOCK):
        listener.hear(sound[start : start + BLOCK])
    assert listener._mel.samples <= 60 * RATE
    assert finished(listener.decode(final=True)).text == spell(words)


def test_a_pause_in_long_speech_is_where_it_is_cut() -> None:
    model = Levels()
    listener = Listener(model)
    stream(listener, speech([1] * 10))
    finished(listener.decode(final=True))
    stream(listener, np.full(RATE // 2, 8, np.int16))
    listener.settle()
    stream(listener, speech([2, 3]))
    assert finished(listener.decode(final=True)).text == spell([*[1] * 10, 2, 3])
    assert model.windows[-1] == SHORTEST


def test_a_short_pause_or_a_short_sentence_is_not_cut() -> None:
    for words, pause_s in (([1] * 10, 0.1), ([1, 2], 1.0)):
        listener = Listener(Levels())
        stream(listener, speech(words))
        finished(listener.decode(final=True))
        before = listener._mel.samples
        stream(listener, np.full(int(pause_s * RATE), 8, np.int16))
        listener.settle()
        assert listener._mel.samples > before


def test_later_sound_does_not_count() -> None:
    listener = Listener(Levels())
    stream(listener, speech([1, 2]))
    decoding = listener.decode(final=True)
    stream(listener, speech([3]))
    assert finished(decoding).text == spell([1, 2])


def test_a_doubtful_decode_of_growing_speech_is_the_one_before() -> None:
    model = Levels()
    listener = Listener(model)
    stream(listener, speech([1, 2]), step=8)
    model.doubt = 1
    listener.hear(speech([3]))
    before = listener._heard
    assert before.avg_logprob < 0
    told = finished(listener.decode(final=False))
    assert (told.text, told.avg_logprob) == (spell([1, 2]), before.avg_logprob), "no surer of it"
    assert finished(listener.decode(final=False)).text == spell([1, 2, 3])


def test_a_doubtful_final_decode_is_made_again_with_a_longer_window() -> None:
    model = Levels()
    model.doubt = 1
    assert transcribe(model, speech([1, 2])).text == spell([1, 2])
    assert model.windows == [SHORTEST, 16 * RATE]


def test_a_decode_that_waits_survives_a_cut_under_it() -> None:
    listener = Listener(Levels())
    listener.hear(speech([1, 2, 3]))
    decoding = listener.decode(final=False)
    next(decoding)  # encoded
    for _ in range(3):
        listener.hear(speech([4] * 24))
    assert finished(decoding).text.startswith(spell([1, 2, 3]))
    assert finished(listener.decode(final=True)).text == spell([1, 2, 3, *[4] * 72])


def test_silence_is_not_even_encoded() -> None:
    model = Levels()
    assert transcribe(model, np.zeros(RATE * 3, np.int16)).empty
    assert transcribe(model, np.empty(0, np.int16)).empty
    assert model.windows == []


def test_a_new_turn_remembers_nothing() -> None:
    listener = Listener(Levels())
    stream(listener, speech([1] * 30))
    listener.clear()
    stream(listener, speech([2, 3]))
    assert finished(listener.decode(final=True)).text == spell([2, 3])


def test_a_pause_that_was_never_decoded_is_not_cut_at_an_older_one() -> None:
    """The final decode of the second pause was given up before it ran."""
    listener = Listener(Levels())
    stream(listener, speech([1] * 11))
    finished(listener.decode(final=True))  # a pause that was none
    stream(listener, speech([2, 3, 4, 5]), step=30)
    listener.decode(final=True).close()
    stream(listener, np.full(RATE // 4, 8, np.int16), step=99)
    listener.settle()
    stream(listener, speech([6, 7]))
    assert finished(listener.decode(final=True)).text == spell([*[1] * 11, 2, 3, 4, 5, 6, 7])


def test_soft_speech_after_a_pause_is_kept() -> None:
    """It was too soft to be noticed for a while: only the pause itself is forgotten."""
    listener = Listener(Levels())
    stream(listener, speech([5] * 11))
    finished(listener.decode(final=True))
    stream(listener, np.full(RATE // 4, 8, np.int16), step=99)
    stream(listener, speech([0]), step=99)
    listener.settle()
    stream(listener, speech([6]))
    assert finished(listener.decode(final=True)).text == spell([*[5] * 11, 0, 6])


@pytest.mark.parametrize("phases", [0, 1, 2])
@pytest.mark.parametrize("final", [False, True])
def test_a_decode_that_waits_through_a_flood_says_no_word_twice(phases: int, final: bool) -> None:
    listener = Listener(Levels())
    first = [n % 10 for n in range(24)]
    listener.hear(speech(first))
    decoding = listener.decode(final=final)
    over = False
    for _ in range(phases):
        try:
            next(decoding)
        except StopIteration:
            over = True
    flood = [n % 7 for n in range(72)]
    for start in range(0, 72, 24):
        listener.hear(speech(flood[start : start + 24]))
    if not over:
        finished(decoding)
    assert finished(listener.decode(final=True)).text == spell([*first, *flood])
