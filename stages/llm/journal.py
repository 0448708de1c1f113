"""A conversation where it outlives this program."""

from ringbuf import CommandRing
from stages.llm.change import Change
from stages.llm.conversation import Conversation


class Journal:
    """Keeps a conversation change by change, so that a new id costs the same in a long one.

    A third of the ring stays free, into which the whole conversation fits: when a change would
    take of it, all is written anew and what was before is let go. So what is in the ring makes one
    conversation at every instant, however this program ends.

    Args:
        ring: from this process to itself, with room for three whole conversations.
    """

    def __init__(self, ring: CommandRing) -> None:
        self._ring = ring
        self._kept: tuple[int | None, ...] | None = None

    def read(self) -> list[Change]:
        """What was kept, also by the program before this one; empty: nothing."""
        return [Change.unpack(message) for message in self._ring.kept()]

    def save(self, conversation: Conversation) -> None:
        """Keep what is new."""
        change = conversation.change()
        if not change.ids and change.numbers == self._kept:
            return
        self._kept = change.numbers
        message = change.pack()
        if self._ring.free() - len(message) > self._ring.spec.capacity // 3:
            self._ring.put(message)
        else:
            self._ring.keep(conversation.change(whole=True).pack())
