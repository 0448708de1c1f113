"""What the stages tell the client, put together into what a program wants to know: pure."""

from collections.abc import Iterable

import numpy as np

from pipeline.events import (
    ClipEnded,
    DeviceNotice,
    Event,
    Fault,
    Idle,
    ReplyText,
    SpeechStarted,
    SpeechStopped,
    UserText,
)
from pipeline.tokenizer import Vocabulary
from stages.lane import is_newer
from stages.messages import Caption, CaptionKind


class Captions:
    """The texts of one conversation, by turn and by answer.

    Args:
        vocabulary: of the language model.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._heard: dict[int, _Text] = {}
        self._replies: dict[int, _Text] = {}
        self._news: dict[int, int] = {}  # answers of which there is more to tell, and their turns

    def take(self, captions: Iterable[Caption], released: int) -> list[Event]:
        """The events that these captions bring; outcomes are the caller's.

        Args:
            released: the answer that may be heard: of newer ones nothing is told yet.
        """
        events = [event for caption in captions if (event := self._event(caption))]
        turn = self._news.pop(released, None)
        self._news = {answer: t for answer, t in self._news.items() if is_newer(answer, released)}
        if turn is not None:
            events.append(ReplyText(turn, released, self.reply(released)))
        return events

    def transcript(self, turn: int) -> str:
        """What the user said in a turn."""
        return self._heard[turn].text if turn in self._heard else ""

    def reply(self, answer: int, count: int | None = None) -> str:
        """What the language model wrote as an answer; of it, what its first `count` ids spell."""
        return self._replies[answer].first(count) if answer in self._replies else ""

    def voiced(self, answer: int, count: int) -> str | None:
        """What the first `count` ids of an answer spell; None while not all of them are known."""
        text = self._replies.get(answer)
        return text.first(count) if text is not None and len(text) >= count else None

    def forget(self, turn: int, answer: int) -> None:
        """A turn is over and was told."""
        self._heard.pop(turn, None)
        self._replies = {a: text for a, text in self._replies.items() if is_newer(a, answer)}

    def _event(self, caption: Caption) -> Event | None:
        match caption.kind:
            case CaptionKind.HEARD:
                text = self._heard.setdefault(caption.turn, _Text(self._vocabulary))
                return UserText(caption.turn, text.revise(caption))
            case CaptionKind.HEARD_ALL:
                text = self._heard.setdefault(caption.turn, _Text(self._vocabulary))
                return UserText(caption.turn, text.revise(caption), final=True)
            case CaptionKind.REPLY:
                text = self._replies.setdefault(caption.answer, _Text(self._vocabulary))
                text.revise(caption)
                self._news[caption.answer] = caption.turn
                return None
            case CaptionKind.ERROR:
                return Fault(caption.turn, caption.payload.decode(errors="replace"))
            case CaptionKind.CLIP:
                return ClipEnded(caption.payload.decode(errors="replace"))
            case CaptionKind.DEVICE:
                message = caption.payload.decode(errors="replace")
                return DeviceNotice(message, is_open=bool(caption.position))
            case CaptionKind.IDLE:
                return Idle(caption.turn)
            case CaptionKind.SPEECH_STARTED:
                return SpeechStarted(caption.turn, caption.position)
            case CaptionKind.SPEECH_STOPPED:
                return SpeechStopped(caption.turn, caption.position)
            case CaptionKind.OUTCOME:
                return None


class _Text:
    """Ids by position, and what they spell."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ids: list[int] = []
        self._spelled = b""

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def text(self) -> str:
        """What all ids spell."""
        return self._vocabulary.read(self._spelled)

    def first(self, count: int | None) -> str:
        """What the first `count` ids spell; None: all."""
        return self.text if count is None else self._vocabulary.decode(self._ids[:count])

    def revise(self, caption: Caption) -> str:
        """Ids from a position on; what stood there and behind is replaced."""
        ids = np.frombuffer(caption.payload, "<i4").tolist()
        if caption.position == len(self._ids):  # an id of a reply: spell no other one again
            self._spelled += b"".join(map(self._vocabulary.spell, ids))
            self._ids += ids
        else:
            self._ids[caption.position :] = ids
            self._spelled = b"".join(map(self._vocabulary.spell, self._ids))
        return self.text
