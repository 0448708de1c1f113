"""How much of a lane's cache a computation reads, and how a run of ids is cut into pieces.

A static cache makes attention read a length that is fixed beforehand, not what is filled. So that
this costs little, there are a few such lengths, and a position decides which one is used. A piece
never crosses from one to the next: the same id at the same position is always computed with the
same shapes, in whatever portions the ids arrive.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """Consecutive positions that are computed at once.

    Attributes:
        start: the first position.
        count: how many, at least 1.
        bucket: keys that attention reads.
    """

    start: int
    count: int
    bucket: int


@dataclass(frozen=True)
class Buckets:
    """Lengths of cache that attention reads.

    Attributes:
        edges: ascending; the last one is the context.
    """

    edges: tuple[int, ...]

    @classmethod
    def even(cls, context: int, step: int) -> "Buckets":
        """Every multiple of `step`: least is read, and each is a shape of its own."""
        return cls((*range(step, context, step), context))

    @classmethod
    def doubling(cls, context: int, first: int) -> "Buckets":
        """Each twice the one before: few shapes, of which each takes a graph."""
        edges = []
        while first < context:
            edges.append(first)
            first *= 2
        return cls((*edges, context))

    def of(self, position: int) -> int:
        """The bucket of a position."""
        return self.edges[bisect_right(self.edges, position)]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Piece]:
        """Positions start to stop, at most `rows` at a time, none across an edge."""
        while start < stop:
            bucket = self.of(start)
            end = min(start + rows, bucket, stop)
            yield Piece(start, end - start, bucket)
            start = end
