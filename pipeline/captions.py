"""What the stages tell the client, put together into what a program wants to know: pure."""

from collections.abc import Iterable

import numpy as np

from pipeline.events import ClipEnded, Event, Fault, ReplyText, UserText
from pipeline.tokenizer import Vocabulary
from stages.messages import Caption, CaptionKind


class Captions:
    """The texts of one conversation, by turn and by answer.

    Args:
        vocabulary: of the language model.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._heard: dict[int, list[int]] = {}
        self._replies: dict[int, list[int]] = {}

    def take(self, captions: Iterable[Caption]) -> list[Event]:
        """The events that these captions bring; outcomes are the caller's."""
        return [event for caption in captions if (event := self._event(caption))]

    def transcript(self, turn: int) -> str:
        """What the user said in a turn."""
        return self._vocabulary.decode(self._heard.get(turn, []))

    def reply(self, answer: int) -> str:
        """What the language model wrote as an answer."""
        return self._vocabulary.decode(self._replies.get(answer, []))

    def forget(self, turn: int, answer: int) -> None:
        """A turn is over and was told."""
        self._heard.pop(turn, None)
        self._replies = {a: ids for a, ids in self._replies.items() if a > answer}

    def _event(self, caption: Caption) -> Event | None:
        match caption.kind:
            case CaptionKind.HEARD:
                _revise(self._heard.setdefault(caption.turn, []), caption)
                return UserText(caption.turn, self.transcript(caption.turn))
            case CaptionKind.REPLY:
                _revise(self._replies.setdefault(caption.answer, []), caption)
                return ReplyText(caption.turn, caption.answer, self.reply(caption.answer))
            case CaptionKind.ERROR:
                return Fault(caption.turn, caption.payload.decode())
            case CaptionKind.CLIP:
                return ClipEnded(caption.payload.decode())
            case CaptionKind.OUTCOME:
                return None


def _revise(ids: list[int], caption: Caption) -> None:
    """Ids from a position on; what stood there and behind is replaced."""
    ids[caption.position :] = np.frombuffer(caption.payload, "<i4").tolist()
