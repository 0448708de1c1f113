"""Runs of ids cut into pieces: complete, in order, and the same for a position however it came."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.llm.buckets import Buckets

CONTEXT = 100


@pytest.mark.parametrize(
    ("buckets", "edges"),
    [
        (Buckets.even(100, 32), (32, 64, 96, 100)),
        (Buckets.even(64, 32), (32, 64)),
        (Buckets.even(16, 32), (16,)),
        (Buckets.doubling(100, 16), (16, 32, 64, 100)),
        (Buckets.doubling(64, 16), (16, 32, 64)),
        (Buckets.doubling(8, 16), (8,)),
    ],
)
def test_the_last_edge_is_the_context(buckets, edges):
    assert buckets.edges == edges


@given(st.integers(0, CONTEXT), st.integers(0, CONTEXT), st.integers(1, 20), st.integers(1, 40))
def test_pieces_are_the_run_and_never_cross_an_edge(start, stop, rows, step):
    buckets = Buckets.even(CONTEXT, step)
    covered = []
    for piece in buckets.pieces(start, stop, rows):
        assert 1 <= piece.count <= rows
        positions = range(piece.start, piece.start + piece.count)
        assert {buckets.of(position) for position in positions} == {piece.bucket}
        assert positions[-1] < piece.bucket
        covered += positions
    assert covered == list(range(start, stop))
