"""How many conversations there may be: counted before a handshake, so that none is promised twice.

Pure: a place is a number that somebody holds. It is taken when a request is admitted and given back
when the lane behind it is free again, or when the handshake came to nothing.
"""

from collections import Counter
from collections.abc import Callable


class NoPlaceError(Exception):
    """Nobody more may come in now; the text says why, for the client."""


class TooManyError(NoPlaceError):
    """This token has as many conversations as it may."""


class Places:
    """The places of one server.

    Args:
        most: how many there are now.
        per_token: of one token; 0: any number.
    """

    def __init__(self, most: Callable[[], int], per_token: int = 0) -> None:
        self._most = most
        self._per_token = per_token
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """How many somebody holds."""
        return self._taken.total()

    @property
    def free(self) -> int:
        """How many may still be taken."""
        return max(0, self._most() - self.taken)

    def check(self, owner: str) -> None:
        """Raises TooManyError if this token may have no more."""
        if self._per_token and owner and self._taken[owner] >= self._per_token:
            raise TooManyError(f"this token has {self._taken[owner]} conversations already")

    def take(self, owner: str) -> "Place":
        """Hold a place.

        Args:
            owner: the name of a token; "" where none is needed.

        Raises:
            NoPlaceError: there is none.
            TooManyError: this token may have no more.
        """
        self.check(owner)
        if not self.free:
            raise NoPlaceError(f"all {self._most()} places are taken")
        self._taken[owner] += 1
        return Place(self, owner)

    def _give_back(self, owner: str) -> None:
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]


class Place:
    """One of them; given back once, however often that is asked."""

    def __init__(self, places: Places, owner: str) -> None:
        self.owner = owner
        self._places: Places | None = places

    def give_back(self) -> None:
        """Let somebody else have it."""
        places, self._places = self._places, None
        if places:
            places._give_back(self.owner)
