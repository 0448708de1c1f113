"""A stretch of a conversation that somebody said or wrote."""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Self

Key = tuple[int, int]
"""Source and number of a part: its name in all programs."""


class Source(IntEnum):
    """Where a part comes from, and what its number counts."""

    OPENING = 0  # what stands before the first words
    WORDS = 1  # said by the user; the turn
    REPLY = 2  # said by the assistant; the answer
    TYPED = 3  # written for the user's side; the client's item
    WRITTEN = 4  # written for the assistant's side; the client's item


@dataclass(frozen=True, slots=True)
class Part:
    """Ids of a conversation from `start` to `end`.

    number: uint32, see `Source`.
    """

    source: Source
    number: int
    start: int
    end: int

    @property
    def key(self) -> Key:
        """Its name."""
        return (self.source, self.number)

    @property
    def is_reply(self) -> bool:
        """The assistant's side."""
        return is_reply(self.source)

    def moved(self, by: int) -> Self:
        """The same ids, so many places further."""
        return replace(self, start=self.start + by, end=self.end + by)


def is_reply(source: int) -> bool:
    """Whether it is the assistant's side of the conversation."""
    return source in (Source.REPLY, Source.WRITTEN)
