"""What a terminal sends, as keys: pure."""

from enum import Enum


class Key(Enum):
    """A key that does something."""

    MUTE = "m"
    TALK = "space"
    INTERRUPT = "i"
    QUIT = "q"


ESCAPE = 0x1B
KEYS = {
    ord("m"): Key.MUTE,
    ord(" "): Key.TALK,
    ord("i"): Key.INTERRUPT,
    ord("q"): Key.QUIT,
    0x03: Key.QUIT,  # Ctrl-C where the terminal makes no signal of it
    0x04: Key.QUIT,  # Ctrl-D
}
FINAL = range(0x40, 0x7F)  # ends a control sequence, ECMA-48
INTRODUCERS = b"[O"  # of arrows and function keys


class KeyReader:
    """Takes bytes as they come, in any portions, and skips what means nothing here.

    The escape key sends the byte with which the sequences of other keys begin: alone it is a key
    only once nothing has followed it for a moment, and then `settle` is to be called.
    """

    def __init__(self) -> None:
        self._sequence = b""  # escape, and what came of its sequence

    @property
    def is_open(self) -> bool:
        """Whether something begun is not known to be over."""
        return bool(self._sequence)

    def feed(self, data: bytes) -> list[Key]:
        """The keys that these bytes bring, in order."""
        keys: list[Key] = []
        for byte in data:
            keys += self._byte(byte)
        return keys

    def settle(self) -> list[Key]:
        """Nothing has followed for a moment."""
        sequence, self._sequence = self._sequence, b""
        return [Key.INTERRUPT] if sequence == bytes([ESCAPE]) else []

    def _byte(self, byte: int) -> list[Key]:
        if byte == ESCAPE:  # whatever was open is over
            keys = self.settle()
            self._sequence = bytes([ESCAPE])
            return keys
        if not self._sequence:
            key = KEYS.get(_lower(byte))
            return [key] if key else []
        if len(self._sequence) == 1 and byte not in INTRODUCERS:
            self._sequence = b""  # a key with Alt
        elif len(self._sequence) > 1 and byte in FINAL:
            self._sequence = b""
        else:
            self._sequence += bytes([byte])
        return []


def _lower(byte: int) -> int:
    return byte + 32 if 0x41 <= byte <= 0x5A else byte
