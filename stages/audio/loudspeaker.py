"""Where the voice of one lane comes out: playback joined to the lane's words and timeline."""

from collections.abc import Callable

from stages.audio.device.playout import Playout
from stages.audio.playback import Fact, Gate, Happened, Playback, Span
from stages.event import Event
from stages.lane import Lane
from stages.messages import Played

EVENTS = {
    Fact.STARTED: Event.PLAY_START,
    Fact.AUDIBLE: Event.FIRST_AUDIO,
    Fact.UNDERRUN: Event.UNDERRUN,
    Fact.ENDED: Event.PLAY_END,
    Fact.CUT: Event.PLAY_END,
}


class Loudspeaker:
    """Plays what may be heard, and tells what was.

    Args:
        lane: the lane.
        on_start: gets the number of an answer that begins to sound.
        on_span: gets samples as they are played.
        on_end: gets the number of an answer that will sound no more; called before `played`
            says so, so that "final" means all is done.
        playback: what decides; by default by the clock alone.
        on_played: gets what is to be told of how much was heard; None: it is told at once.
    """

    def __init__(
        self,
        lane: Lane,
        *,
        on_start: Callable[[int], None] = lambda answer: None,
        on_span: Callable[[Span], None],
        on_end: Callable[[int], None] = lambda answer: None,
        on_played: Callable[[Played], None] | None = None,
        playback: Playback | Playout | None = None,
    ) -> None:
        self.lane = lane
        self._playback = playback or Playback(lane.answer)
        self._on_start = on_start
        self._on_span = on_span
        self._on_end = on_end
        self._on_played = on_played or self._tell_played
        self._turn = 0  # that the sounding answer belongs to

    @property
    def gate(self) -> Gate:
        """The control words now."""
        lane = self.lane
        return Gate(lane.answer, lane.released, lane.hold, lane.voice_end)

    def step(self, now: int, gate: Gate | None = None) -> bool:
        """Play what is due; whether to come again at once.

        Args:
            gate: what was read of the control words; None: they are read.
        """
        lane = self.lane
        gate = gate or self.gate
        tick = self._playback.step(now, gate, lane.voice)
        if any(fact.fact is Fact.STARTED for fact in tick.facts):
            self._turn = lane.turn
            self._on_start(gate.answer)
        for span in tick.spans:
            self._on_span(span)
        for fact in tick.facts:
            self._tell(fact)
        if tick.played is not None:
            self._on_played(tick.played)
        return tick.again

    def give_up(self) -> None:
        """Say nothing more of this answer: it has failed here."""
        if (played := self._playback.give_up()) is not None:
            self._on_played(played)

    def _tell_played(self, played: Played) -> None:
        self.lane.played = played

    def _tell(self, fact: Happened) -> None:
        event = EVENTS[fact.fact]
        self.lane.emit(event, turn=self._turn, answer=fact.answer, value=fact.value, at=fact.at)
        if fact.fact in (Fact.ENDED, Fact.CUT):
            self._on_end(fact.answer)
