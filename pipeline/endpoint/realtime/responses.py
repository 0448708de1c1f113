"""The assistant's side: one response at a time: pure."""

import base64
from collections.abc import Callable

from pipeline.endpoint.realtime.actions import Action, Cut, Say, Tell
from pipeline.endpoint.realtime.answer import Answer, Wanted
from pipeline.endpoint.realtime.dialect import Dialect
from pipeline.endpoint.realtime.items import Item, Items
from pipeline.endpoint.realtime.problem import Json
from pipeline.events import (
    AnswerReleased,
    ReplyEnded,
    ReplyText,
    Sound,
    SoundCut,
    SoundEnded,
    TurnEnded,
)
from stages.llm.part import Source
from stages.outcome import Outcome

KEPT = 64  # answers whose sound can still be truncated


class Responses:
    """What the client is told of the answers.

    Args:
        items: of the conversation.
        dialect: of the client.
        act: does something.
        voice: its name.
    """

    def __init__(
        self, items: Items, dialect: Dialect, act: Callable[[Action], None], voice: str
    ) -> None:
        self._items = items
        self._dialect = dialect
        self._act = act
        self._voice = voice
        self._conversation = dialect.name("conv")
        self._kept: dict[str, Answer] = {}  # by item, the newest last
        self.current: Answer | None = None

    @property
    def conversation(self) -> str:
        """Its name."""
        return self._conversation

    def of_item(self, item: str) -> Answer | None:
        """The answer that became an item, if it is not too old."""
        return self._kept.get(item)

    def create(self, number: int, wanted: Wanted) -> Answer:
        """An answer may be heard from here on."""
        answer = Answer(self._dialect.name("resp"), number, wanted, self._conversation)
        self.current = answer
        self._tell({"type": "response.created", "response": self._described(answer, [])})
        # Nothing is rationed by the minute here: there is nothing to list.
        self._tell({"type": "rate_limits.updated", "rate_limits": []})
        return answer

    def released(self, event: AnswerReleased, wanted: Wanted) -> None:
        """An answer may be heard."""
        if self.current:  # how much of it was heard is told in a moment, or was lost
            self.finish(self.current, Outcome.INTERRUPTED, self.current.text)
        self.create(event.answer, wanted)

    def wrote(self, event: ReplyText) -> None:
        """More of its text is known."""
        answer = self._answer(event.answer)
        if answer is None:
            return
        answer.count = event.count
        added = event.text[len(answer.text) :] if event.text.startswith(answer.text) else ""
        if not added:
            return
        self._open(answer)
        answer.text = event.text
        self._tell({"type": f"{self._text_kind(answer)}.delta", **answer.place(), "delta": added})

    def wrote_all(self, event: ReplyEnded) -> None:
        """All of its text is known."""
        if answer := self._answer(event.answer):
            answer.count, answer.asked, answer.known = event.count, event.asked, event.known
            answer.limited = event.limited

    def sounds(self, event: Sound) -> None:
        """More of its sound."""
        answer = self._answer(event.answer)
        if answer is None or not answer.wanted.spoken or not len(event.samples):
            return
        self._open(answer)
        self._say(answer, answer.mouth.say(event.samples, event.rate))
        end = event.first + len(event.samples)
        answer.told(end * 1000 / event.rate, event.position)

    def said(self, event: SoundEnded) -> None:
        """All of its sound was told."""
        answer = self._answer(event.answer)
        if answer and answer.item and answer.wanted.spoken:
            self._say(answer, answer.mouth.rest())
            self._said(answer)

    def cut(self, event: SoundCut) -> None:
        """Nothing more of its sound is worth sending."""
        self._act(Cut(event.answer))

    def ended(self, event: TurnEnded, fault: str) -> None:
        """The turn is over, and the response with it."""
        number, outcome = event.timeline.answer, event.timeline.outcome
        is_cut = outcome is Outcome.INTERRUPTED
        if (answer := self._answer(number)) is not None:
            is_shorter = is_cut and answer.wanted.spoken
            self.finish(answer, outcome, event.heard if is_shorter else answer.text, fault)
            return
        for answer in self._kept.values():  # one that the next one was quicker than
            if answer.number == number and is_cut and answer.wanted.spoken:
                self._items.change(answer.item, text=event.heard)

    def finish(self, answer: Answer, outcome: Outcome, text: str, fault: str = "") -> None:
        """Tell its end.

        Args:
            text: of its item from here on.
        """
        self.current = None
        answer.text = text
        output = []
        end = answer.ended(outcome, fault)
        if answer.item:
            is_whole = end["status"] == "completed"
            output = [self._close(answer, "completed" if is_whole else "incomplete")]
        response = {**self._described(answer, output), **end}
        self._tell({"type": "response.done", "response": response})

    def _answer(self, number: int) -> Answer | None:
        """The current one, if it is that."""
        return self.current if self.current and self.current.number == number else None

    def _open(self, answer: Answer) -> None:
        """Its item, with the first of its content."""
        if answer.item:
            return
        answer.item = self._dialect.name("item")
        self._kept[answer.item] = answer
        for old in list(self._kept)[:-KEPT]:
            del self._kept[old]
        key = (int(Source.REPLY), answer.number)
        item = Item(answer.item, key, "assistant", "", answer.wanted.spoken, "in_progress")
        before = self._items.append(item)
        shown = item.described(is_beta=self._dialect.is_beta)
        place = {"response_id": answer.id, "output_index": 0}
        self._tell({"type": "response.output_item.added", **place, "item": shown})
        added = {"previous_item_id": before, "item": shown}
        self._tell({"type": "conversation.item.added", **added})
        part = {"type": "response.content_part.added", **answer.place()}
        self._tell({**part, "part": self._part(answer)})

    def _close(self, answer: Answer, status: str) -> Json:
        """Its item is done; as it is shown."""
        place = answer.place()
        if answer.wanted.spoken:
            self._said(answer)
            self._tell(
                {
                    "type": "response.output_audio_transcript.done",
                    **place,
                    "transcript": answer.text,
                }
            )
        else:
            self._tell({"type": "response.output_text.done", **place, "text": answer.text})
        part = self._part(answer)
        self._tell({"type": "response.content_part.done", **place, "part": part})
        item = self._items.change(answer.item, text=answer.text, status=status)
        if item is None:  # the client has deleted it
            key = (int(Source.REPLY), answer.number)
            item = Item(answer.item, key, "assistant", answer.text, answer.wanted.spoken, status)
        shown = item.described(is_beta=self._dialect.is_beta)
        where = {"response_id": answer.id, "output_index": 0}
        self._tell({"type": "response.output_item.done", **where, "item": shown})
        before = self._items.before(answer.item)
        done = {"previous_item_id": before, "item": shown}
        self._tell({"type": "conversation.item.done", **done})
        return shown

    def _say(self, answer: Answer, data: bytes) -> None:
        if data:
            delta = base64.b64encode(data).decode()
            event = {"type": "response.output_audio.delta", **answer.place(), "delta": delta}
            if (written := self._dialect.write(event)) is not None:
                self._act(Say(written, answer.number, answer.wanted.output.ms(len(data))))

    def _said(self, answer: Answer) -> None:
        if not answer.is_said:
            answer.is_said = True
            self._tell({"type": "response.output_audio.done", **answer.place()})

    def _part(self, answer: Answer) -> Json:
        kind, name = ("audio", "transcript") if answer.wanted.spoken else ("text", "text")
        return {"type": kind, name: answer.text}

    def _text_kind(self, answer: Answer) -> str:
        kind = "output_audio_transcript" if answer.wanted.spoken else "output_text"
        return f"response.{kind}"

    def _described(self, answer: Answer, output: list[Json]) -> Json:
        return answer.described(output, self._voice, is_beta=self._dialect.is_beta)

    def _tell(self, event: Json) -> None:
        if (written := self._dialect.write(event)) is not None:
            self._act(Tell(written))
