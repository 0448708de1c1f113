"""The user's side: turns that become items, and their transcripts: pure."""

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.endpoint.realtime.items import Item, Items
from pipeline.endpoint.realtime.problem import Json
from pipeline.events import TurnBegan, TurnClosed, TurnEnded, UserText
from stages.llm.part import Source
from stages.outcome import Outcome

_INPUT = "input_audio_buffer"
_TRANSCRIPTION = "conversation.item.input_audio_transcription"
_FAILED = (Outcome.FAILED, Outcome.TIMED_OUT)


@dataclass
class _Turn:
    """A turn of the user that is going on.

    Attributes:
        item: name of its item, from its first word on.
        is_closed: the item is there.
        is_final: these are all its words.
        is_told: so the client knows.
    """

    item: str
    began_ms: int
    closed_ms: int = 0
    text: str = ""
    is_closed: bool = False
    is_final: bool = False
    is_told: bool = False


class Hearing:
    """What the client is told of its user's turns.

    Args:
        items: of the conversation.
        name: makes a new name of a kind.
        tell: sends an event.
    """

    def __init__(
        self, items: Items, name: Callable[[str], str], tell: Callable[[Json], None]
    ) -> None:
        self._items = items
        self._name = name
        self._tell = tell
        self._turns: dict[int, _Turn] = {}
        self.is_manual = False
        self.transcribes = True

    @property
    def is_open(self) -> bool:
        """The user speaks."""
        return any(not turn.is_closed for turn in self._turns.values())

    def began(self, event: TurnBegan) -> None:
        """The user has said something."""
        item = self._name("item")
        self._turns[event.turn] = _Turn(item, event.at_ms)
        if not self.is_manual:
            at = {"audio_start_ms": event.at_ms, "item_id": item}
            self._tell({"type": f"{_INPUT}.speech_started", **at})

    def closed(self, event: TurnClosed, *, is_beta: bool) -> None:
        """And is done: that is an item."""
        turn = self._turns.setdefault(event.turn, _Turn(self._name("item"), event.at_ms))
        turn.is_closed = True
        turn.closed_ms = max(event.at_ms, turn.began_ms)
        self._stopped(turn, turn.closed_ms)
        item = Item(turn.item, (Source.WORDS, event.turn), "user", None, is_sound=True)
        before = self._items.append(item)
        self._tell(
            {
                "type": f"{_INPUT}.committed",
                "previous_item_id": before,
                "item_id": turn.item,
            }
        )
        shown = {"previous_item_id": before, "item": item.described(is_beta=is_beta)}
        self._tell({"type": "conversation.item.added", **shown})
        self._tell({"type": "conversation.item.done", **shown})
        self._transcribe(turn)

    def heard(self, event: UserText) -> None:
        """Its words, so far or all of them."""
        turn = self._turns.get(event.turn)
        if turn is None or turn.is_told:
            return
        turn.text, turn.is_final = event.text, event.final
        self._transcribe(turn)

    def ended(self, event: TurnEnded) -> None:
        """Nothing more will be known of it."""
        turn = self._turns.pop(event.timeline.turn, None)
        if turn is None:
            return
        if not turn.is_closed:
            self._stopped(turn, turn.began_ms)
        elif not turn.is_told and event.timeline.outcome in _FAILED and not event.transcript:
            self._failed(turn)
        elif not turn.is_told:
            turn.text, turn.is_final = event.transcript, True
            self._transcribe(turn)

    def _stopped(self, turn: _Turn, at_ms: int) -> None:
        if not self.is_manual:
            at = {"audio_end_ms": at_ms, "item_id": turn.item}
            self._tell({"type": f"{_INPUT}.speech_stopped", **at})

    def _transcribe(self, turn: _Turn) -> None:
        """Tell the words, once they are final."""
        if not (turn.is_closed and turn.is_final):
            return
        turn.is_told = True
        self._items.change(turn.item, text=turn.text)
        if not self.transcribes:
            return
        place = {"item_id": turn.item, "content_index": 0}
        if turn.text:
            self._tell({"type": f"{_TRANSCRIPTION}.delta", **place, "delta": turn.text})
        seconds = (turn.closed_ms - turn.began_ms) / 1000
        usage = {"type": "duration", "seconds": seconds}
        done = {**place, "transcript": turn.text, "usage": usage}
        self._tell({"type": f"{_TRANSCRIPTION}.completed", **done})

    def _failed(self, turn: _Turn) -> None:
        self._items.change(turn.item, text="", status="incomplete")
        if self.transcribes:
            error = {
                "type": "server_error",
                "code": "transcription_failed",
                "message": "A stage failed before the words were known.",
                "param": None,
            }
            place = {"item_id": turn.item, "content_index": 0}
            self._tell({"type": f"{_TRANSCRIPTION}.failed", **place, "error": error})
