"""One conversation's rings and control words, seen from one process."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ringbuf import _core
from ringbuf.audio_ring import AudioRing
from ringbuf.command_ring import CommandRing
from ringbuf.doorbell import Doorbell
from ringbuf.layout import WordSpec
from ringbuf.token_ring import TokenRing

AnyRing = TokenRing | AudioRing | CommandRing
R = TypeVar("R", TokenRing, AudioRing, CommandRing)


class Lane:
    """Rings and words by name.

    A word has one writer. Setting it wakes the processes that its specification names, with this
    lane's bit set.
    """

    def __init__(
        self,
        number: int,
        specs: Sequence[WordSpec],
        words: _core.Words,
        rings: Mapping[str, AnyRing],
        bells: Mapping[str, Doorbell],
    ) -> None:
        self.number = number
        self.rings = rings
        self._words = words
        self._index = {spec.name: index for index, spec in enumerate(specs)}
        self._wakes = {
            spec.name: [bells[name] for name in spec.wakes if name in bells] for spec in specs
        }

    @property
    def words(self) -> dict[str, int]:
        """All control words, by name."""
        return {name: self._words[index] for name, index in self._index.items()}

    def get(self, word: str) -> int:
        """A control word, 64 bits unsigned."""
        return self._words[self._index[word]]

    def set(self, word: str, value: int) -> None:
        """Store a control word, then wake everyone who waits for it."""
        self._words[self._index[word]] = value
        for bell in self._wakes[word]:
            bell.ring(self.number)

    def token(self, name: str) -> TokenRing:
        """The token ring of that name. Raises KeyError or TypeError."""
        return _typed(self.rings[name], TokenRing)

    def audio(self, name: str) -> AudioRing:
        """The audio ring of that name. Raises KeyError or TypeError."""
        return _typed(self.rings[name], AudioRing)

    def command(self, name: str) -> CommandRing:
        """The command ring of that name. Raises KeyError or TypeError."""
        return _typed(self.rings[name], CommandRing)

    def close(self) -> None:
        """Any later use raises Closed; views of its rings stay valid."""
        self._words.close()
        for ring in self.rings.values():
            ring._core.close()

    def skip(self, reader: str, *, keep_own: bool = False) -> None:
        """Forget everything unread in the rings that `reader` reads.

        Args:
            keep_own: but not what it wrote to itself.
        """
        for ring in self.rings.values():
            if ring.spec.reader == reader and not (keep_own and ring.spec.writer == reader):
                ring.skip()

    def __repr__(self) -> str:
        if self._words.is_closed:
            return f"<Lane {self.number}: closed>"
        words = " ".join(f"{name}={value:#x}" for name, value in self.words.items())
        return "\n  ".join([f"<Lane {self.number}: {words}", *map(repr, self.rings.values())]) + ">"


def _typed(ring: AnyRing, kind: type[R]) -> R:
    if not isinstance(ring, kind):
        raise TypeError(f"{ring.spec.name} is a ring of kind {ring.spec.kind}")
    return ring
