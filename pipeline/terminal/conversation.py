"""What is said in a conversation, as it grows: pure, driven by its events."""

from dataclasses import dataclass

from pipeline.events import (
    ClipEnded,
    DeviceNotice,
    Event,
    Fault,
    Idle,
    ReplyText,
    TurnEnded,
    UserText,
)
from pipeline.terminal.entry import Entry, Exchange, Note
from pipeline.terminal.latency import in_short
from pipeline.terminal.words import clean
from stages.lane import is_newer
from stages.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Running:
    """A turn that is going on.

    Attributes:
        final: these are all the words of the user.
        answer: what was heard of the answer so far.
    """

    turn: int
    user: str = ""
    final: bool = False
    answer: str = ""


class Conversation:
    """Keeps the turns that go on, and gives what has ended to be shown for good.

    What was said is never lost: each turn of which anything was told becomes an Exchange, when it
    ends, when a newer one ends, or when the conversation does.
    """

    def __init__(self) -> None:
        self._live: dict[int, Running] = {}  # by turn
        self._answered = 0  # the turn whose answer may be heard
        self._over: int | None = None  # the newest turn that has ended

    @property
    def live(self) -> list[Running]:
        """Turns that go on, the oldest first: more than one while an answer is being cut."""
        return list(self._live.values())

    def take(self, event: Event) -> list[Entry]:
        """Follow what happens.

        Returns:
            What has ended with it, in the order in which it is to be shown.
        """
        match event:
            case UserText(turn, text, final):
                self._change(turn, user=clean(text), final=final)
            case ReplyText(turn):
                self._change(turn)
                self._answered = turn
            case TurnEnded():
                return self._end(event)
            case Fault(_, message) | ClipEnded(message) if message:
                return [Note(clean(message), is_trouble=True)]
            case DeviceNotice(message, is_open):
                return [Note(clean(message), is_trouble=not is_open)]
            case Idle():
                return [Note("nobody has said anything for a while")]
        return []

    def heard(self, text: str) -> None:
        """Follow the voice: what was heard of the answer that is sounding; "": nothing is."""
        live = self._live.get(self._answered)
        if live and (said := clean(text)):
            self._live[live.turn] = Running(live.turn, live.user, live.final, said)

    def finish(self) -> list[Entry]:
        """The conversation is over: what was still going on."""
        left, self._live = self.live, {}
        return [_unfinished(live) for live in left if live.user or live.answer]

    def _change(self, turn: int, user: str | None = None, *, final: bool = False) -> None:
        if self._over is not None and not is_newer(turn, self._over):
            return  # it was told already
        was = self._live.get(turn, Running(turn))
        said = was if user is None else Running(turn, user, final, was.answer)
        self._live[turn] = said
        order = sorted(self._live, key=lambda t: t - turn + 0x8000_0000 & 0xFFFF_FFFF)
        self._live = {t: self._live[t] for t in order}

    def _end(self, ended: TurnEnded) -> list[Entry]:
        turn = ended.timeline.turn
        older = [live for t, live in self._live.items() if is_newer(turn, t)]
        was = self._live.get(turn, Running(turn))
        self._live = {t: live for t, live in self._live.items() if is_newer(t, turn)}
        if self._over is None or is_newer(turn, self._over):
            self._over = turn
        left: list[Entry] = [_unfinished(live) for live in older if live.user or live.answer]
        exchange = Exchange(
            turn,
            clean(ended.transcript) or was.user,
            clean(ended.heard) or was.answer,
            ended.timeline.outcome,
            *in_short(ended.timeline),
        )
        return [*left, exchange] if _is_worth_showing(exchange) else left


def _unfinished(live: Running) -> Exchange:
    return Exchange(live.turn, live.user, live.answer, None)


def _is_worth_showing(exchange: Exchange) -> bool:
    """A noise without words is not."""
    return bool(exchange.user or exchange.answer) or exchange.outcome is not Outcome.NO_SPEECH
