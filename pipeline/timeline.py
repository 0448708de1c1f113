"""Where the milliseconds of a turn went: pure, from the event records of all stages."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from ringbuf import EventRecord
from stages.event import Event
from stages.lane import is_newer
from stages.outcome import Outcome

MILESTONES = {
    "silence": Event.SILENCE,
    "soft_end": Event.SOFT_END,
    "decode_start": Event.DECODE_START,
    "transcript": Event.FINAL,
    "prefill": Event.PREFILL,
    "first_id": Event.FIRST_ID,
    "first_words": Event.FIRST_WORDS,
    "first_sound": Event.FIRST_SOUND,
    "last_id": Event.LAST_ID,
    "release": Event.RELEASE,
    "first_audio": Event.FIRST_AUDIO,
    "play_end": Event.PLAY_END,
}
LAST = (Event.SILENCE, Event.DECODE_START, Event.COMMIT)  # only the last pause was the end
OF_TURN = (Event.SPEECH_START, Event.COMMIT)  # the others are of one answer
AUDIBLE = (Outcome.ANSWERED, Outcome.INTERRUPTED, Outcome.FAILED)
SETTLED_NS = 1_000_000_000  # a first audio counts only if no gap follows within this time
VAD_WINDOW_NS = 32_000_000


@dataclass(frozen=True)
class Timeline:
    """One turn.

    Attributes:
        at: monotonic ns of each event of the answer that counted.
        values: what each of these events says it is.
        speech_end: monotonic ns of the end of the user's speech; None if unknown.
        speech_end_source: "clip" (annotated or measured) or "vad" (the detector's estimate).
        underruns: (monotonic ns, length in ns) of each gap in the answer.
        voice_late: (monotonic ns, ns) of each time that the voice kept the listener waiting though
            it knew what to say, and for how long it had known; other gaps are missing words. None:
            an endpoint does not tell.
        dropped: ids of each answer that was prepared in this turn, and dropped unheard because the
            user went on.
        lost: event records of any lane that were lost since the last turn was told: the rest may
            be incomplete.
    """

    lane: int
    turn: int
    answer: int
    outcome: Outcome
    at: dict[Event, int]
    values: dict[Event, int]
    speech_end: int | None
    speech_end_source: str
    underruns: tuple[tuple[int, int], ...] = ()
    voice_late: tuple[tuple[int, int], ...] | None = ()
    dropped: tuple[int, ...] = ()
    lost: int = 0

    @property
    def phases(self) -> dict[str, float]:
        """Each milestone that was reached, ms after the end of the user's speech, in order."""
        if self.speech_end is None:
            return {}
        reached = {
            name: (self.at[event] - self.speech_end) / 1e6
            for name, event in MILESTONES.items()
            if event in self.at
        }
        return dict(sorted(reached.items(), key=lambda item: item[1]))

    @property
    def first_audio_ms(self) -> float | None:
        """First-audio latency; None if nothing was heard, or not smoothly, or too early."""
        delay = self.phases.get("first_audio")
        counts = self.outcome in AUDIBLE and not self.cut_off
        return delay if delay is not None and counts and not self._stumbles else None

    @property
    def early(self) -> tuple[int, int] | None:
        """Ids of the user's words that were on the ring while they were spoken, of how many."""
        words = self.values.get(Event.PREFILL)
        return None if words is None else (min(self.values.get(Event.COMMIT, 0), words), words)

    @property
    def cut_off(self) -> bool:
        """The answer was released before the user had finished."""
        return self.phases.get("release", 0.0) < 0

    @property
    def voice_late_ms(self) -> list[float] | None:
        """How long the voice had known what to say, each time that it was waited for."""
        if self.voice_late is None:
            return None
        return [round(ns / 1e6, 1) for _, ns in self.voice_late]

    @property
    def _stumbles(self) -> bool:
        heard = self.at[Event.FIRST_AUDIO]
        return any(heard <= at < heard + SETTLED_NS for at, _ in self.underruns)


@dataclass
class Collector:
    """Gathers records until a turn ends.

    Records name a lane and a turn, an answer, or neither (what happened to a clip).
    """

    _records: dict[int, list[EventRecord]] = field(default_factory=lambda: defaultdict(list))

    def add(self, records: Iterable[EventRecord]) -> None:
        """Take what the event rings brought, in any order."""
        for record in records:
            self._records[record.lane].append(record)

    def forget(self, lane: int) -> None:
        """A new conversation begins on this lane."""
        self._records.pop(lane, None)

    def finish(self, lane: int, turn: int, answer: int, outcome: Outcome, lost: int) -> Timeline:
        """The timeline of a turn that has ended; its records are dropped."""
        records = sorted(self._records[lane], key=lambda record: record.at)
        mine = [r for r in records if _belongs(r, turn, answer)]
        at, values = _milestones(mine)
        speech_end, source = _speech_end(records, at)
        clips = [r for r in records if r.event in CLIP_EVENTS][-KEPT_CLIP_EVENTS:]
        self._records[lane] = clips + [r for r in records if _is_later(r, turn, answer)]
        return Timeline(
            lane=lane,
            turn=turn,
            answer=answer,
            outcome=outcome,
            at=at,
            values=values,
            speech_end=speech_end,
            speech_end_source=source,
            underruns=_instants(mine, Event.UNDERRUN),
            voice_late=_instants(mine, Event.VOICE_LATE),
            dropped=_dropped(records, turn),
            lost=lost,
        )


KEPT_CLIP_EVENTS = 4  # two clips: one may still be heard while the next has begun
CLIP_EVENTS = {Event.CLIP_START, Event.SPEECH_END}
OF_EDGE = {Event.OPENED, *CLIP_EVENTS}  # they belong to no turn


def _is_later(record: EventRecord, turn: int, answer: int) -> bool:
    """Of a turn or an answer that is still to end."""
    return is_newer(record.turn, turn) or is_newer(record.answer, answer)


def _belongs(record: EventRecord, turn: int, answer: int) -> bool:
    """Of the answer that counted; or of the turn, where there is no answer yet."""
    if record.event in OF_EDGE:
        return False
    return record.answer == answer or (record.event in OF_TURN and record.turn == turn)


def _milestones(records: list[EventRecord]) -> tuple[dict[Event, int], dict[Event, int]]:
    """First occurrence of each event; of those in LAST the last one."""
    at: dict[Event, int] = {}
    values: dict[Event, int] = {}
    for record in records:
        event = Event(record.event)
        if event in at and event not in LAST:
            continue
        at[event] = record.at
        values[event] = record.value
    return at, values


def _instants(records: list[EventRecord], event: Event) -> tuple[tuple[int, int], ...]:
    """When something happened, each time, and its value."""
    return tuple((record.at, record.value) for record in records if record.event == event)


def _dropped(records: list[EventRecord], turn: int) -> tuple[int, ...]:
    """Ids of each answer to this turn that nobody heard."""
    return tuple(r.value for r in records if r.event == Event.DROPPED and r.turn == turn)


def _speech_end(records: list[EventRecord], at: dict[Event, int]) -> tuple[int | None, str]:
    """The clip's own end of speech if a clip was playing, else what the detector saw."""
    began = at.get(Event.SPEECH_START)
    clips = [r.at for r in records if r.event == Event.SPEECH_END and _heard_in(r, began)]
    if clips:
        return clips[-1], "clip"
    if Event.SILENCE in at:
        return at[Event.SILENCE] - VAD_WINDOW_NS, "vad"
    return None, "vad"


def _heard_in(clip: EventRecord, began: int | None) -> bool:
    """Whether an utterance that began at `began` can be this clip's; its value is its start."""
    return began is not None and clip.value - SETTLED_NS <= began <= clip.at + SETTLED_NS
