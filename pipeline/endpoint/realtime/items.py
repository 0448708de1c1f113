"""The items of a conversation, in their order, as a client knows them: pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipeline.endpoint.realtime import fields
from pipeline.endpoint.realtime.fields import Object
from pipeline.endpoint.realtime.problem import Json, RefusedError, invalid, missing, unsupported
from stages.llm.part import Key, Source

ROOT = "root"
MOST_ITEMS = 1000  # beyond, the oldest are forgotten here too: the model forgot them long ago
_TODAY = {"text": "output_text", "audio": "output_audio"}
_ROLES = ("user", "assistant", "system")
_KEYS = ("id", "type", "object", "status", "role", "content")
_PART_KEYS = ("type", "text", "audio", "transcript", "detail", "image_url")


@dataclass(frozen=True)
class Item:
    """A message.

    Attributes:
        key: its name in the pipeline.
        text: what it says; of sound its transcript; None: that is not known yet.
        is_sound: it was spoken.
    """

    id: str
    key: Key
    role: str
    text: str | None
    is_sound: bool = False
    status: str = "completed"

    def described(self, *, is_beta: bool) -> Json:
        """As events show it; its sound is not kept."""
        return {
            "id": self.id,
            "object": "realtime.item",
            "type": "message",
            "status": self.status,
            "role": self.role,
            "content": [] if self._is_empty else [self._content(is_beta)],
        }

    @property
    def _is_empty(self) -> bool:
        return self.role == "assistant" and self.status == "in_progress"

    def _content(self, is_beta: bool) -> Json:
        if self.role == "assistant":
            kind = "audio" if self.is_sound else "text"
            kind = kind if is_beta else _TODAY[kind]
        else:
            kind = "input_audio" if self.is_sound else "input_text"
        return {"type": kind, "transcript" if self.is_sound else "text": self.text}


class Items:
    """All of them, each behind the one that a client put it behind."""

    def __init__(self) -> None:
        self._items: list[Item] = []

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    @property
    def last(self) -> Item | None:
        """The newest."""
        return self._items[-1] if self._items else None

    def append(self, item: Item) -> str | None:
        """Add one at the end; give the name of the one before it."""
        before = self.before_end
        self._items.append(item)
        del self._items[:-MOST_ITEMS]
        return before

    @property
    def before_end(self) -> str | None:
        """What a new one would stand behind."""
        return self._items[-1].id if self._items else None

    def before(self, id: str) -> str | None:
        """The name of the one before another; None if that is the first or not there."""
        names = [item.id for item in self._items]
        return names[names.index(id) - 1] if id in names[1:] else None

    def insert(self, item: Item, after: str) -> str | None:
        """Put one in behind another, or in front of all; give the name of the one before it.

        Raises:
            RefusedError: there is no such item.
        """
        place = 0 if after == ROOT else self._index(after, "previous_item_id") + 1
        self._items.insert(place, item)
        del self._items[:-MOST_ITEMS]
        return None if after == ROOT else after

    def get(self, id: str, param: str = "item_id") -> Item:
        """One by its name.

        Raises:
            RefusedError: there is none.
        """
        return self._items[self._index(id, param)]

    def has(self, id: str) -> bool:
        """Whether there is one of that name."""
        return any(item.id == id for item in self._items)

    def change(self, id: str, **changes: object) -> Item | None:
        """Know more of one; None if it is not there any more."""
        for n, item in enumerate(self._items):
            if item.id == id:
                self._items[n] = replace(item, **changes)  # type: ignore[arg-type]
                return self._items[n]
        return None

    def remove(self, id: str) -> Item:
        """Forget one.

        Raises:
            RefusedError: there is none.
        """
        return self._items.pop(self._index(id, "item_id"))

    def _index(self, id: str, param: str) -> int:
        for n, item in enumerate(self._items):
            if item.id == id:
                return n
        raise RefusedError(f"There is no item '{id[:64]}'.", "item_not_found", param)


def parse_item(value: Object, id: str, number: int) -> Item:
    """A message that a client wrote.

    Args:
        id: for it if it brings none.
        number: of this conversation's written messages.

    Raises:
        RefusedError: it cannot be one.
    """
    kind = value.get("type")
    if kind is None:
        raise missing("item.type")
    if isinstance(kind, str) and (kind.startswith(("function_call", "mcp_"))):
        raise unsupported("item.type", "Tools are")
    fields.choice(value, "type", "item.", ("message",))
    fields.only(value, _KEYS, "item.")
    role = fields.choice(value, "role", "item.", _ROLES)
    text = "".join(_parse_part(part, n, role) for n, part in enumerate(_parts(value)))
    if not text.strip():
        raise invalid("item.content", "", "some text")
    if len(text.encode()) > fields.LONGEST_TEXT:
        raise RefusedError(
            f"'item.content' is longer than {fields.LONGEST_TEXT} bytes.",
            "string_above_max_length",
            "item.content",
        )
    source = Source.WRITTEN if role == "assistant" else Source.TYPED
    name = fields.identifier(value, "id", "item.") or id
    return Item(name, (source, number), role, text)


def _parts(value: Object) -> list[object]:
    if value.get("content") is None:
        raise missing("item.content")
    parts = fields.sequence(value, "content", "item.")
    if not parts:
        raise invalid("item.content", parts, "at least one part")
    return parts


def _parse_part(part: object, index: int, role: str) -> str:
    name = f"item.content[{index}]"
    if not isinstance(part, dict):
        raise invalid(name, part, "an object")
    kind = part.get("type")
    if kind in ("input_audio", "audio", "output_audio", "input_image"):
        raise unsupported(f"{name}.type", f"Content of the type '{kind}' in a created item is")
    known = ("output_text", "text") if role == "assistant" else ("input_text", "text")
    fields.choice(part, "type", f"{name}.", known)
    fields.only(part, _PART_KEYS, f"{name}.")
    return fields.text(part, "text", f"{name}.")
