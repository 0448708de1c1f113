from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.tts.edges import Edges, trim

RATE = 1000  # 5 samples a frame, 10 of lead, 30 of tail, 4 of fade
LOUD, QUIET = 0.5, 0.0001


def speak(sound: np.ndarray, sizes: list[int]) -> tuple[int, np.ndarray]:
    """The stretch that is passed on, and where it begins."""
    edges, at, index = Edges(RATE), 0, 0
    pieces: list[tuple[int, np.ndarray]] = []
    while at < len(sound):
        size = sizes[index % len(sizes)]
        pieces.append(edges.feed(sound[at : at + size]))
        at, index = at + size, index + 1
    pieces.append(edges.finish())
    pieces = [piece for piece in pieces if len(piece[1])]
    for (first, samples), (following, _) in pairwise(pieces):
        assert first + len(samples) == following
    whole = np.concatenate([np.zeros(0, np.float32), *(samples for _, samples in pieces)])
    return (pieces[0][0] if pieces else 0), whole


def sound(*parts: tuple[float, int]) -> np.ndarray:
    return np.concatenate([np.full(size, level, np.float32) for level, size in parts])


def test_silence_around_a_sentence_is_dropped() -> None:
    first, samples = speak(sound((QUIET, 100), (LOUD, 200), (QUIET, 300)), [17])
    assert first == 90
    assert len(samples) == 10 + 200 + 30
    assert samples[0] == samples[-1] == 0
    assert (samples[14:200] == LOUD).all()


def test_silence_inside_stays() -> None:
    _, samples = speak(sound((LOUD, 50), (QUIET, 100), (LOUD, 50)), [20])
    assert len(samples) == 200


def test_silence_alone_gives_nothing() -> None:
    assert len(speak(sound((QUIET, 100)), [10])[1]) == 0
    assert len(Edges(RATE).finish()[1]) == 0


def test_sound_that_ends_loud_is_faded_all_the_same() -> None:
    _, samples = speak(sound((LOUD, 100)), [100])
    assert len(samples) == 100
    assert samples[0] == samples[-1] == 0


def test_silence_waits_until_sound_follows() -> None:
    edges = Edges(RATE)
    assert len(edges.feed(sound((LOUD, 100), (QUIET, 50)))[1]) == 100
    assert len(edges.feed(sound((QUIET, 50)))[1]) == 0
    first, samples = edges.feed(sound((LOUD, 50)))
    assert (first, len(samples)) == (100, 146)  # the last of it waits: it may be the end


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from([LOUD, QUIET, 0.0]), st.integers(0, 60)), max_size=8),
    st.lists(st.integers(1, 70), min_size=1, max_size=5),
)
def test_any_split_gives_the_same_stretch(parts: list[tuple[float, int]], sizes: list[int]) -> None:
    whole = sound((QUIET, 3), *parts)
    first, samples = speak(whole, sizes)
    again, others = speak(whole, [10_000])
    assert first == again
    assert np.array_equal(samples, others)


def test_a_whole_clause_at_once_is_what_its_pieces_are_and_keeps_its_own_samples() -> None:
    clause = sound((QUIET, 100), (LOUD, 203), (QUIET, 90), (LOUD, 50), (QUIET, 300))
    before = clause.copy()
    np.testing.assert_array_equal(trim(clause, RATE), speak(clause, [17])[1])
    np.testing.assert_array_equal(clause, before)
    assert len(trim(sound((QUIET, 500)), RATE)) == len(trim(clause[:0], RATE)) == 0
