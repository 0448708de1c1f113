"""What a client asks of a conversation: how it is answered, and changes to what was said."""

from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from stages.llm.conversation import Conversation
from stages.llm.part import Source


class Wish(BaseModel):
    """One message on the ring `settings`, as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Style(Wish):
    """How answers are to be; a key that is None stays as it was.

    Attributes:
        instructions: the system prompt.
        voice: answers are spoken; else they are told as text.
        most: ids of an answer; 0: as many as fit.
        temperature: 0 always takes the likeliest id; above, chance grows with it.
        once: for the next answer that is asked for, and for no other.
    """

    kind: Literal["style"] = "style"
    instructions: str | None = None
    voice: bool | None = None
    most: int | None = Field(None, ge=0)
    temperature: float | None = Field(None, ge=0, le=2)
    once: bool = False


class Edit(Wish):
    """A change to what was said: to the part with this source and number."""

    source: Source
    number: int = Field(ge=0, lt=2**32)


class Insert(Edit):
    """A message that nobody spoke.

    Attributes:
        after: source and number of what it stands behind; none: of everything.
        behind: the last turn that had begun: at the end, it stands behind that turn's words.
    """

    kind: Literal["insert"] = "insert"
    text: str
    after: tuple[int, int] | None = None
    behind: int | None = Field(None, ge=0, lt=2**32)


class Remove(Edit):
    """A part is to be forgotten."""

    kind: Literal["remove"] = "remove"


class Truncate(Edit):
    """Of a part only the first `count` ids were heard."""

    kind: Literal["truncate"] = "truncate"
    count: int = Field(ge=0)


class Message(BaseModel):
    """Any of them, told apart by `kind`."""

    model_config = ConfigDict(extra="forbid")
    wish: Style | Insert | Remove | Truncate = Field(discriminator="kind")


def pack(wish: Wish) -> bytes:
    """As it goes through the ring."""
    return wish.model_dump_json(exclude_none=True).encode(errors="replace")


def unpack(message: bytes) -> Style | Insert | Remove | Truncate:
    """The inverse of `pack`.

    Raises:
        ValueError: it is none.
    """
    return Message.model_validate_json(b'{"wish":%b}' % message).wish


def carry_out(
    edit: Edit, conversation: Conversation, encode: Callable[[str], Sequence[int]]
) -> None:
    """Change what was said.

    Raises:
        StageError: it does not fit in the context.
    """
    key = (int(edit.source), edit.number)
    match edit:
        case Insert():
            conversation.insert(key, encode(edit.text), edit.after)
        case Truncate():
            conversation.truncate(key, edit.count)
        case _:
            conversation.remove(key)
