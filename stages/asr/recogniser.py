"""What a speech recogniser brings: one conversation's ear, which decodes in short phases."""

from collections.abc import Callable, Generator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stages.asr.transcript import Transcript, split_words

Samples = NDArray[np.int16]
Decoding = Generator[int, None, Transcript]
"""A decode in progress. It yields between its phases, so that something more urgent may go first:
the monotonic ns before which it need not be resumed, or 0. Closing it gives it up."""


class Recogniser(Protocol):
    """One conversation's ear.

    Attributes:
        streams: it can decode speech that goes on.
    """

    streams: bool

    def clear(self) -> None:
        """A new turn begins."""

    def hear(self, samples: Samples) -> None:
        """More sound of the turn: int16 [n] at 16 kHz, a view that is valid during the call."""

    def decode(self, *, final: bool) -> Decoding:
        """Begin to decode all that was heard of the turn so far; later sound does not count.

        Args:
            final: the speaker has paused, so this may be the whole utterance; else it goes on, and
                a doubtful decode may be given up by returning an earlier one.
        """

    def settle(self) -> None:
        """The speaker goes on after a pause: words before it need not be decoded again."""


class WholeUtterance:
    """Makes a recogniser of a function that knows only whole utterances.

    Args:
        recognise: text of int16 [n] at 16 kHz; empty if nobody speaks.
    """

    streams = False

    def __init__(self, recognise: Callable[[Samples], str]) -> None:
        self._recognise = recognise
        self._sound: list[Samples] = []

    def clear(self) -> None:
        """A new turn begins."""
        self._sound.clear()

    def hear(self, samples: Samples) -> None:
        """Keep it."""
        self._sound.append(samples.copy())

    def decode(self, *, final: bool) -> Decoding:
        """One call, which nothing can interrupt."""
        sound = np.concatenate(self._sound) if self._sound else np.empty(0, np.int16)

        def decoding() -> Decoding:
            yield 0
            return Transcript(split_words(self._recognise(sound)))

        return decoding()

    def settle(self) -> None:
        """Nothing: everything is decoded again."""


def finished(decoding: Decoding) -> Transcript:
    """Run a decode to its end at once."""
    while True:
        try:
            next(decoding)
        except StopIteration as end:
            transcript: Transcript = end.value
            return transcript
