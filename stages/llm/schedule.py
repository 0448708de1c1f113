"""Whose turn it is when many lanes share one GPU."""

from collections.abc import Mapping
from enum import IntEnum


class Need(IntEnum):
    """What a lane waits for, the most urgent first."""

    SPEAK = 0  # the next id of an answer: somebody is listening
    ANSWER = 1  # the end of a prompt: somebody waits for the first id
    WORDS = 2  # words of somebody who is still speaking
    HISTORY = 3  # a conversation that is built anew, or its opening


class Schedule:
    """Who is served in a round.

    Every round gives each speaking lane its next id, all in one step, and then computes a bounded
    number of chunks for the others. So a prompt, however long, delays a voice by that much and no
    more; among lanes of one urgency the one that was served longest ago comes first.

    Args:
        chunks: of a round.
    """

    def __init__(self, chunks: int = 2) -> None:
        self._chunks = chunks
        self._round = 0
        self._served: dict[int, int] = {}

    def speaking(self, needs: Mapping[int, Need]) -> list[int]:
        """The lanes that get an id in this round, all of them."""
        return [lane for lane, need in needs.items() if need is Need.SPEAK]

    def prefill(self, needs: Mapping[int, Need]) -> list[int]:
        """The lanes that get a chunk in this round, in order."""
        self._round += 1
        waiting = [lane for lane, need in needs.items() if need is not Need.SPEAK]
        waiting.sort(key=lambda lane: (needs[lane], self._served.get(lane, 0)))
        chosen = waiting[: self._chunks]
        for lane in chosen:
            self._served[lane] = self._round
        return chosen
