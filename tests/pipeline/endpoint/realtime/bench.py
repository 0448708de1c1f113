"""The core of the Realtime protocol with a pipeline that tests play."""

import base64
import json
from itertools import count
from typing import Any

import numpy as np

from pipeline.config import Config
from pipeline.endpoint.realtime.actions import Action, Ask, Cut, Feed, Order, Say, Settle, Tell
from pipeline.endpoint.realtime.core import Core
from pipeline.events import (
    AnswerReleased,
    Event,
    ReplyEnded,
    ReplyText,
    Sound,
    SoundEnded,
    TurnBegan,
    TurnClosed,
    TurnEnded,
    UserText,
)
from pipeline.timeline import Timeline
from stages.messages import Command
from stages.outcome import Outcome

RATE = 24_000
WORDS = "It is time to speak. Now."  # of every answer; an id is one letter


def pcm(ms: int, width: int = 2) -> str:
    """Base64 of so much silence."""
    return base64.b64encode(bytes(ms * RATE // 1000 * width)).decode()


class Bench:
    """A core and what it has done.

    Attributes:
        told: events for the client, sound too.
        done: everything else.
    """

    def __init__(self, *, is_beta: bool = False, turn: int = 0) -> None:
        numbers = count(1)
        self.told: list[dict[str, Any]] = []
        self.done: list[Action] = []
        self.words = WORDS
        self.turn, self.answer = turn, 0
        self.core = Core(
            Config(),
            "gpt-realtime",
            lambda kind: f"{kind}_s{next(numbers)}",
            self.whole_words,
            turn,
            is_beta=is_beta,
        )
        self.take(self.core.open())

    def whole_words(self, answer: int, count: int) -> tuple[int, str]:
        """As `ClientLane` does it."""
        while 0 < count < len(self.words) and self.words[count].isalpha():
            count -= 1
        return count, self.words[:count]

    def take(self, actions: list[Action]) -> list[dict[str, Any]]:
        """Note what is to be done; give the events."""
        told: list[dict[str, Any]] = []
        for action in actions:
            match action:
                case Tell(event) | Say(event, _, _):
                    told.append(json.loads(json.dumps(event)))
                case Feed() | Order() | Settle() | Ask() | Cut():
                    self.done.append(action)
        self.told += told
        return told

    def send(self, type: str, **fields: Any) -> list[dict[str, Any]]:
        """The client says something."""
        return self.take(self.core.receive(json.dumps({"type": type, **fields})))

    def refused(self, type: str, **fields: Any) -> dict[str, Any]:
        """The one error that it brings."""
        (event,) = self.send(type, **fields)
        assert event["type"] == "error", event
        error: dict[str, Any] = event["error"]
        return error

    def update(self, **session: Any) -> list[dict[str, Any]]:
        """`session.update` in today's form."""
        return self.send("session.update", session={"type": "realtime", **session})

    def manual(self) -> None:
        """The client commits."""
        self.update(audio={"input": {"turn_detection": None}})

    def happen(self, event: Event) -> list[dict[str, Any]]:
        """The pipeline says something."""
        return self.take(self.core.happened(event))

    def speak(self, text: str = "Hello?", *, final: bool = True) -> list[dict[str, Any]]:
        """The user has a turn."""
        start = len(self.told)
        self.turn += 1
        self.happen(TurnBegan(self.turn, 100))
        self.happen(UserText(self.turn, text, final))
        self.happen(TurnClosed(self.turn, 900))
        return self.told[start:]

    def release(self, *, voice: bool = False) -> list[dict[str, Any]]:
        """An answer may be heard.

        Args:
            voice: to what was said, else to what was asked for.
        """
        self.turn += not voice
        self.answer += 1
        return self.happen(AnswerReleased(self.turn, self.answer))

    def write(self, count: int) -> list[dict[str, Any]]:
        """So much of the answer is written."""
        return self.happen(ReplyText(self.turn, self.answer, self.words[:count], count))

    def sound(self, ms: int, first_ms: int, position: int) -> list[dict[str, Any]]:
        """A stretch of its sound."""
        samples = np.zeros(ms * 24, np.int16)
        place = self.turn, self.answer, first_ms * 24, position
        return self.happen(Sound(samples, RATE, *place))

    def sound_all(self) -> list[dict[str, Any]]:
        """All of its sound was told."""
        return self.happen(SoundEnded(self.answer, 0))

    def end(
        self, outcome: Outcome = Outcome.ANSWERED, *, heard: str | None = None, said: str = ""
    ) -> list[dict[str, Any]]:
        """The turn is over."""
        timeline = Timeline(0, self.turn, self.answer, outcome, {}, {}, None, "vad")
        heard = self.words if heard is None else heard
        return self.happen(TurnEnded(timeline, said, self.words, heard))

    def answer_all(self, *, asked: int = 40, limited: bool = False) -> list[dict[str, Any]]:
        """An answer from its release to its end."""
        start = len(self.told)
        self.write(3)
        self.write(len(self.words))
        ended = ReplyEnded(self.turn, self.answer, len(self.words), asked, asked - 2, limited)
        self.happen(ended)
        for n in range(5):
            self.sound(100, n * 100, n * 5 + 5)
        self.sound_all()
        self.end()
        return self.told[start:]

    def orders(self) -> list[Command]:
        """Commands so far."""
        return [action.command for action in self.done if isinstance(action, Order)]

    def wishes(self) -> list[Any]:
        """Wishes so far."""
        return [action.wish for action in self.done if isinstance(action, Ask)]

    def fed(self) -> int:
        """Samples that reached the microphone."""
        return sum(len(action.samples) for action in self.done if isinstance(action, Feed))

    def item(self, id: str) -> dict[str, Any]:
        """An item as it is now."""
        (event,) = self.send("conversation.item.retrieve", item_id=id)
        assert event["type"] == "conversation.item.retrieved"
        shown: dict[str, Any] = event["item"]
        return shown


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """Their types."""
    return [event["type"] for event in events]


def find(events: list[dict[str, Any]], type: str) -> dict[str, Any]:
    """The only one of a type."""
    (event,) = [event for event in events if event["type"] == type]
    return event


def message(text: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    """An item to create."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return {"type": "message", "role": role, "content": content, **fields}
