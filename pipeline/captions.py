"""What the stages tell the client, put together into what a program wants to know: pure."""

import unicodedata
from collections.abc import Iterable

import numpy as np

from pipeline.events import (
    AnswerReleased,
    ClipEnded,
    DeviceNotice,
    Event,
    Fault,
    Idle,
    ReplyEnded,
    ReplyText,
    SpeechStarted,
    SpeechStopped,
    TurnBegan,
    TurnClosed,
    UserText,
)
from pipeline.tokenizer import Vocabulary
from stages.lane import is_newer
from stages.messages import Caption, CaptionKind

KEPT = 64  # answers whose text can still be asked for


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
        self._ends: dict[int, ReplyEnded] = {}  # of answers, to be told

    def take(self, captions: Iterable[Caption], released: int) -> list[Event]:
        """The events that these captions bring; outcomes are the caller's.

        Args:
            released: the answer that may be heard: of newer ones nothing is told yet.
        """
        events = [event for caption in captions if (event := self._event(caption))]
        turn = self._news.pop(released, None)
        self._news = {answer: t for answer, t in self._news.items() if is_newer(answer, released)}
        if turn is not None:
            events.append(ReplyText(turn, released, self.reply(released), self._count(released)))
        if (end := self._ends.pop(released, None)) is not None:
            events.append(end)
        self._ends = {answer: e for answer, e in self._ends.items() if is_newer(answer, released)}
        return events

    def transcript(self, turn: int) -> str:
        """What the user said in a turn."""
        return self._heard[turn].text if turn in self._heard else ""

    def reply(self, answer: int, count: int | None = None) -> str:
        """What the language model wrote as an answer; of it, what its first `count` ids spell."""
        return self._replies[answer].first(count) if answer in self._replies else ""

    def _count(self, answer: int) -> int:
        return len(self._replies[answer].ids) if answer in self._replies else 0

    def whole_words(self, answer: int, count: int) -> tuple[int, str]:
        """The whole words among the first ids of an answer: how many ids, and what they spell."""
        return self._replies[answer].whole_words(count) if answer in self._replies else (0, "")

    def voiced(self, answer: int, count: int) -> str | None:
        """What the first `count` ids of an answer spell; None while not all of them are known."""
        text = self._replies.get(answer)
        return text.first(count) if text is not None and len(text) >= count else None

    def forget(self, turn: int, answer: int) -> None:
        """A turn is over and was told; of older answers the newest are kept."""
        self._heard.pop(turn, None)
        over = [a for a in self._replies if not is_newer(a, answer)]
        for old in over[:-KEPT]:
            del self._replies[old]

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
            case CaptionKind.REPLY_ALL:
                asked, known, limited = np.frombuffer(caption.payload, "<i4").tolist()
                numbers = caption.turn, caption.answer, caption.position, asked, known
                self._ends[caption.answer] = ReplyEnded(*numbers, bool(limited))
                return None
            case CaptionKind.BEGAN:
                return TurnBegan(caption.turn, caption.position)
            case CaptionKind.CLOSED:
                return TurnClosed(caption.turn, caption.position)
            case CaptionKind.RELEASED:
                return AnswerReleased(caption.turn, caption.answer)
            case CaptionKind.OUTCOME | CaptionKind.REOPENED:
                return None


class _Text:
    """Ids by position, and what they spell."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.ids: list[int] = []
        self._spelled = b""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def text(self) -> str:
        """What all ids spell."""
        return self._vocabulary.read(self._spelled)

    def first(self, count: int | None) -> str:
        """What the first `count` ids spell; None: all."""
        return self.text if count is None else self._vocabulary.decode(self.ids[:count])

    def whole_words(self, count: int) -> tuple[int, str]:
        """The whole words among the first ids."""
        count = min(count, len(self.ids))
        while 0 < count < len(self.ids) and not _begins_word(self._spell(count)):
            count -= 1
        return count, self.first(count)

    def _spell(self, position: int) -> bytes:
        """At least a whole character from here on, if there is one."""
        return b"".join(map(self._vocabulary.spell, self.ids[position : position + 4]))

    def revise(self, caption: Caption) -> str:
        """Ids from a position on; what stood there and behind is replaced."""
        ids = np.frombuffer(caption.payload, "<i4").tolist()
        if caption.position == len(self.ids):  # an id of a reply: spell no other one again
            self._spelled += b"".join(map(self._vocabulary.spell, ids))
            self.ids += ids
        else:
            self.ids[caption.position :] = ids
            self._spelled = b"".join(map(self._vocabulary.spell, self.ids))
        return self.text


def _begins_word(spelled: bytes) -> bool:
    """Whether these bytes, which follow others, do not go on with their word."""
    if not spelled or 0x80 <= spelled[0] < 0xC0:  # inside a character
        return False
    character = spelled.decode(errors="ignore")[:1]
    # Scripts without spaces have letters of no case, each of which is a word's beginning here.
    return not character.isalnum() or unicodedata.category(character) == "Lo"
