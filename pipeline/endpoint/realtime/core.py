"""The OpenAI Realtime protocol without input or output: messages and events in, actions out.

What a client sends goes to `receive`, what happens in its conversation to `happened`; both give
what is to be done. docs/realtime.md lists every event.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.config import Config
from pipeline.endpoint.realtime import fields
from pipeline.endpoint.realtime import settings as sessions
from pipeline.endpoint.realtime.actions import Action, Ask, Order, Settle, Tell
from pipeline.endpoint.realtime.answer import Answer, Wanted
from pipeline.endpoint.realtime.asking import parse_answer
from pipeline.endpoint.realtime.dialect import Dialect
from pipeline.endpoint.realtime.fields import Object
from pipeline.endpoint.realtime.hearing import Hearing
from pipeline.endpoint.realtime.items import ROOT, Item, Items, parse_item
from pipeline.endpoint.realtime.message import parse
from pipeline.endpoint.realtime.microphone import Microphone
from pipeline.endpoint.realtime.problem import (
    Json,
    RefusedError,
    invalid,
    missing,
    problem,
    refused,
    unsupported,
)
from pipeline.endpoint.realtime.responses import Responses
from pipeline.endpoint.realtime.settings import Settings, first_settings
from pipeline.events import (
    AnswerReleased,
    Event,
    Fault,
    ReplyEnded,
    ReplyText,
    Sound,
    SoundCut,
    SoundEnded,
    TurnBegan,
    TurnClosed,
    TurnEnded,
    UserText,
)
from stages.lane import is_newer
from stages.llm.part import Key, Source
from stages.llm.wishes import Insert, Remove, Style, Truncate
from stages.messages import Command
from stages.outcome import BROKEN, Outcome

WholeWords = Callable[[int, int], tuple[int, str]]
"""Of an answer's first ids: how many are whole words, and what these spell."""


class Core:
    """One client's conversation.

    Args:
        config: of the pipeline.
        model: that the client named.
        name: makes a new name of a kind, such as `item_...`.
        whole_words: see `ClientLane.whole_words`.
        turn, answer: the last ones' numbers when the conversation was opened.
        expires_at: when the session will be ended, s since 1970; None: it will not.
        is_beta: the client asked for the beta protocol.
    """

    def __init__(
        self,
        config: Config,
        model: str,
        name: Callable[[str], str],
        whole_words: WholeWords,
        turn: int,
        answer: int = 0,
        *,
        expires_at: int | None = None,
        is_beta: bool = False,
    ) -> None:
        self._config = config
        self._settings = first_settings(config, model)
        self._session_id = name("sess")
        self._expires_at = expires_at
        self._whole_words = whole_words
        self._turn, self._answer = turn, answer  # the last that are known
        self._actions: list[Action] = []
        self._dialect = Dialect(name, is_beta=is_beta)
        self._items = Items()
        self._hearing = Hearing(self._items, name, self._tell)
        act = self._actions.append
        self._responses = Responses(self._items, self._dialect, act, self._settings.voice)
        self._microphone = Microphone(self._settings.input, act)
        self._wanted: Wanted | None = None  # a response that was asked for, and has not begun
        self._is_void = False  # it was cancelled before that
        self._typed = 0  # messages that the client wrote
        self._fault = ""
        self._clients: Mapping[str, Callable[[Object], None]] = {
            "session.update": self._update,
            "input_audio_buffer.append": self._append,
            "input_audio_buffer.commit": self._commit,
            "input_audio_buffer.clear": self._clear,
            "conversation.item.create": self._create_item,
            "conversation.item.truncate": self._truncate_item,
            "conversation.item.delete": self._delete_item,
            "conversation.item.retrieve": self._retrieve_item,
            "response.create": self._create_response,
            "response.cancel": self._cancel_response,
        }

    def open(self) -> list[Action]:
        """The conversation is open."""
        self._tell({"type": "session.created", "session": self._session()})
        if self._dialect.is_beta:
            conversation = {"id": self._responses.conversation, "object": "realtime.conversation"}
            self._tell({"type": "conversation.created", "conversation": conversation})
        return self._take()

    def receive(self, message: str | bytes) -> list[Action]:
        """A message of the client; whatever it is, the conversation goes on."""
        event_id: str | None = None
        try:
            event = parse(message)
            given = event.get("event_id")
            event_id = given[: fields.LONGEST_ID * 8] if isinstance(given, str) else None
            self._obey(event)
        except RefusedError as error:
            self._tell(refused(error, event_id))
        return self._take()

    def happened(self, event: Event) -> list[Action]:
        """Something happened in the conversation."""
        match event:
            case TurnBegan(turn=turn):
                self._turn = turn
                self._hearing.began(event)
            case TurnClosed(turn=turn):
                self._turn, self._microphone.is_committing = turn, False
                self._is_void = False  # what was cancelled is no answer to this turn
                self._hearing.closed(event, is_beta=self._dialect.is_beta)
            case UserText():
                self._hearing.heard(event)
            case AnswerReleased():
                self._released(event)
            case ReplyText():
                self._responses.wrote(event)
            case ReplyEnded():
                self._responses.wrote_all(event)
            case Sound(turn=turn, answer=answer):
                self._released(AnswerReleased(turn, answer))  # should that have been lost
                self._responses.sounds(event)
            case SoundEnded():
                self._responses.said(event)
            case SoundCut():
                self._responses.cut(event)
            case TurnEnded():
                self._ended(event)
            case Fault():
                self._failed(event)
        return self._take()

    def trouble(self, message: str) -> list[Action]:
        """Something that the client asked for could not be passed on."""
        self._tell(problem(message, "server_busy", kind="server_error"))
        return self._take()

    # Client events.

    def _obey(self, event: Object) -> None:
        kind = event.get("type")
        if kind is None:
            raise missing("type")
        act = self._clients.get(kind) if isinstance(kind, str) else None
        if act is None:
            raise invalid("type", kind, f"one of: {', '.join(self._clients)}")
        act(event)

    def _update(self, event: Object) -> None:
        fields.only(event, ("type", "event_id", "session"), "")
        if "session" not in event:
            raise missing("session")
        session = fields.table(event, "session")
        beta = self._dialect.is_beta or sessions.is_beta(session)
        if beta and "audio" in session:  # today's form, whatever the header said
            beta = False
        wants_tools = sessions.has_tools(session, "session.")
        new = sessions.updated(self._settings, session, beta=beta)
        self._dialect.is_beta = beta
        self._adopt(new)
        self._tell({"type": "session.updated", "session": self._session()})
        if wants_tools:
            raise unsupported("session.tools", "Tools are")

    def _adopt(self, new: Settings) -> None:
        old, self._settings = self._settings, new
        style: dict[str, Any] = {}
        if new.instructions != old.instructions:
            style["instructions"] = new.instructions
        if new.spoken != old.spoken:
            style["voice"] = new.spoken
        if new.most != old.most:
            style["most"] = new.most
        if new.temperature != old.temperature:
            style["temperature"] = new.temperature
        if style:
            self._act(Ask(Style(**style)))
        if new.turns != old.turns:
            self._act(Settle(new.turns.settings(self._config.turn)))
        self._microphone.adopt(new.input, is_manual=new.turns.is_manual)
        self._hearing.is_manual = new.turns.is_manual
        self._hearing.transcribes = new.transcribes

    def _append(self, event: Object) -> None:
        fields.only(event, ("type", "event_id", "audio"), "")
        self._microphone.append(event.get("audio"), is_busy=self._is_busy)

    def _commit(self, event: Object) -> None:
        fields.only(event, ("type", "event_id"), "")
        is_speaking = self._hearing.is_open
        self._microphone.commit(is_speaking=is_speaking, is_busy=self._is_busy)

    def _clear(self, event: Object) -> None:
        fields.only(event, ("type", "event_id"), "")
        self._microphone.clear(is_busy=self._is_busy)
        self._tell({"type": "input_audio_buffer.cleared"})

    def _create_item(self, event: Object) -> None:
        fields.only(event, ("type", "event_id", "item", "previous_item_id"), "")
        if "item" not in event:
            raise missing("item")
        self._typed += 1
        id = self._dialect.name("item")
        item = parse_item(fields.table(event, "item"), id, self._typed)
        if self._items.has(item.id) or item.id == ROOT:
            message = f"There is an item '{item.id}' already."
            raise RefusedError(message, "item_already_exists", "item.id")
        after = fields.identifier(event, "previous_item_id")
        before = self._items.append(item) if after is None else self._items.insert(item, after)
        self._write(item, None if item == self._items.last else before, after)
        shown = {"previous_item_id": before, "item": self._shown(item)}
        self._tell({"type": "conversation.item.added", **shown})
        self._tell({"type": "conversation.item.done", **shown})

    def _write(self, item: Item, before: str | None, after: str | None) -> None:
        """Put a message into the model's conversation."""
        place: Key | None = None
        if before is not None:
            place = self._items.get(before).key
        elif after == ROOT:
            place = (int(Source.OPENING), 0)
        source, number = item.key
        wish = Insert(
            source=Source(source),
            number=number,
            text=item.text or "",
            after=place,
            behind=self._behind,
        )
        self._act(Ask(wish))

    @property
    def _behind(self) -> int:
        """The turn that a message at the end stands behind."""
        is_coming = self._microphone.is_committing and not self._hearing.is_open
        return self._turn + is_coming & 0xFFFF_FFFF

    def _delete_item(self, event: Object) -> None:
        fields.only(event, ("type", "event_id", "item_id"), "")
        id = fields.text(event, "item_id", longest=fields.LONGEST_ID)
        self._require_done(self._items.get(id))
        source, number = self._items.remove(id).key
        self._act(Ask(Remove(source=Source(source), number=number)))
        self._tell({"type": "conversation.item.deleted", "item_id": id})

    def _retrieve_item(self, event: Object) -> None:
        fields.only(event, ("type", "event_id", "item_id"), "")
        item = self._items.get(fields.text(event, "item_id", longest=fields.LONGEST_ID))
        self._tell({"type": "conversation.item.retrieved", "item": self._shown(item)})

    def _truncate_item(self, event: Object) -> None:
        keys = ("type", "event_id", "item_id", "content_index", "audio_end_ms")
        fields.only(event, keys, "")
        for key in ("content_index", "audio_end_ms"):
            if event.get(key) is None:
                raise missing(key)
        item = self._items.get(fields.text(event, "item_id", longest=fields.LONGEST_ID))
        answer = self._responses.of_item(item.id)
        if answer is None or not item.is_sound:
            message = "Only messages that were spoken by the assistant can be truncated."
            raise RefusedError(message, "invalid_value", "item_id")
        fields.whole(event, "content_index", "", 0, 0, 0)
        end_ms = fields.whole(event, "audio_end_ms", "", 0, 2**31, 0)
        self._truncate(item, answer, end_ms)
        place = {"item_id": item.id, "content_index": 0, "audio_end_ms": end_ms}
        self._tell({"type": "conversation.item.truncated", **place})

    def _truncate(self, item: Item, answer: Answer, end_ms: int) -> None:
        """What was not heard was not said."""
        if end_ms > answer.duration_ms + 1:  # rounded up by whoever counts whole ms
            told = f"{answer.duration_ms:.0f} ms of sound were sent, so it cannot end at {end_ms}."
            raise RefusedError(told, "invalid_value", "audio_end_ms")
        count, text = self._whole_words(answer.number, answer.voiced(end_ms))
        if answer is not self._responses.current:
            shorter = text if len(text) < len(item.text or "") else item.text
            self._items.change(item.id, text=shorter)
        self._act(Ask(Truncate(source=Source.REPLY, number=answer.number, count=count)))

    def _create_response(self, event: Object) -> None:
        fields.only(event, ("type", "event_id", "response"), "")
        if self._is_busy:
            raise RefusedError(
                "The conversation has an active response already; wait for its end or cancel it.",
                "conversation_already_has_active_response",
            )
        asked = fields.table(event, "response")
        self._wanted, style = parse_answer(asked, self._settings)
        self._is_void = False
        self._act(Ask(style))
        self._act(Order(Command.RESPOND))
        if sessions.has_tools(asked, "response."):
            raise unsupported("response.tools", "Tools are")

    def _cancel_response(self, event: Object) -> None:
        fields.only(event, ("type", "event_id", "response_id"), "")
        named = fields.identifier(event, "response_id")
        current = self._responses.current
        if named is not None and (current is None or named != current.id):
            message = f"There is no active response '{named}'."
            raise RefusedError(message, "response_cancel_not_active", "response_id")
        if current is None and self._wanted is None:
            raise RefusedError("There is no active response.", "response_cancel_not_active")
        self._act(Order(Command.CANCEL))
        if current:
            current.is_cancelled = True
        elif self._wanted:
            self._end_wanted(Outcome.INTERRUPTED)
            self._is_void = True

    # What happens.

    def _released(self, event: AnswerReleased) -> None:
        if not is_newer(event.answer, self._answer):
            return
        self._turn, self._answer = event.turn, event.answer
        if self._is_void and self._wanted is None:
            self._is_void = False
            return
        settings = self._settings
        usual = Wanted(settings.spoken, settings.output, settings.most)
        wanted, self._wanted = self._wanted or usual, None
        self._responses.released(event, wanted)

    def _ended(self, event: TurnEnded) -> None:
        self._hearing.ended(event)
        self._responses.ended(event, self._fault)
        outcome = event.timeline.outcome
        if self._wanted and outcome in BROKEN:
            self._end_wanted(outcome)  # `turn` has forgotten it, too
        self._fault = ""
        self._microphone.let_go(is_busy=self._is_busy)

    def _failed(self, event: Fault) -> None:
        self._fault = event.message
        self._tell(problem(event.message, "stage_failed", kind="server_error"))
        if self._wanted:
            self._end_wanted(Outcome.FAILED)

    def _end_wanted(self, outcome: Outcome) -> None:
        """A response that was asked for ends before it began."""
        assert self._wanted
        answer = self._responses.create(0, self._wanted)
        answer.is_cancelled = outcome is Outcome.INTERRUPTED
        self._responses.finish(answer, outcome, "", self._fault)
        self._wanted = None

    # Together.

    @property
    def _is_busy(self) -> bool:
        """A response is active, or was asked for."""
        return self._responses.current is not None or self._wanted is not None

    def _require_done(self, item: Item) -> None:
        current = self._responses.current
        if current and current.item == item.id:
            message = "This item belongs to an active response; cancel that first."
            raise RefusedError(message, "item_in_use", "item_id")

    def _session(self) -> Json:
        return {
            **self._settings.described(is_beta=self._dialect.is_beta),
            "id": self._session_id,
            "expires_at": self._expires_at,
        }

    def _shown(self, item: Item) -> Json:
        return item.described(is_beta=self._dialect.is_beta)

    def _tell(self, event: Json) -> None:
        if (written := self._dialect.write(event)) is not None:
            self._act(Tell(written))

    def _act(self, action: Action) -> None:
        self._actions.append(action)

    def _take(self) -> list[Action]:
        actions = list(self._actions)
        self._actions.clear()  # the same list: the responses append to it
        return actions
