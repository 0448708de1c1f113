"""A conversation's form, as ids."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pieces:
    """What a chat template writes around the words.

    A conversation is `opening words ask reply`, then any number of `next words ask reply`.

    Attributes:
        opening: everything before the user's first words: system prompt, the user's role.
        ask: everything between the user's words and the reply.
        next: everything between a reply and the user's next words.
        join: between the words of two turns that make one message, when the answer to the first
            was not heard.
        stops: ids that end a reply.
        cut: what stands behind a reply that was cut short.
        greeting: what is said before anybody has spoken.
    """

    opening: tuple[int, ...]
    ask: tuple[int, ...]
    next: tuple[int, ...]
    join: tuple[int, ...]
    stops: frozenset[int]
    cut: tuple[int, ...] = ()
    greeting: tuple[int, ...] = ()
