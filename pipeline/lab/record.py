"""What became of a conversation, put into the form of a run's file: pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.events import TurnEnded
from pipeline.lab.mix import Said
from pipeline.lab.peaks import pack, peaks
from pipeline.lab.run import Conversation, Mark, Turn, Wave
from pipeline.lab.target import Told
from pipeline.lab.words import word_errors
from ringbuf import EventRecord
from stages.audio.audible import THRESHOLD_DBFS
from stages.audio.level import FULL_SCALE, amplitude
from stages.event import Event
from stages.outcome import Outcome
from stages.topology import INPUT_RATE

USER, VOICE = 0, 1
SLACK_NS = 1_000_000_000  # behind the end of a clip, for its voice to be noticed
EARLY_NS = 100_000_000  # a voice may be noticed in the window that the clip began in
WHOLE, ZOOMED = 600, 400  # peaks a side, at most
BEFORE_S, BEHIND_S = 0.4, 0.3  # around the end of speech and the first audio, in close-up
AUDIBLE = round(INPUT_RATE * 0.01)
UNMARKED = {Event.CLIP_START, Event.SPEECH_END, Event.OPENED, Event.COMMIT}
MARKS = 400  # of a conversation, at most


@dataclass(frozen=True)
class Exchange:
    """A clip and the turns that began while it was said; more than one: it was cut."""

    said: Said
    start: int
    turns: tuple[TurnEnded, ...]

    @property
    def answered(self) -> TurnEnded | None:
        """The turn that counts: the last."""
        return self.turns[-1] if self.turns else None


def record(
    name: str,
    clips: Sequence[Said],
    told: Told,
    *,
    repeat: int,
    warm: bool,
    index: int,
    began_s: float,
) -> tuple[Conversation, list[Turn]]:
    """A conversation, and a turn for each of its clips.

    Args:
        index: of the conversation in the run.
        began_s: since the run began.
    """
    exchanges = attribute(clips, told)
    conversation = Conversation(
        name=name,
        repeat=repeat,
        warm=warm,
        began_s=round(began_s, 3),
        seconds=round(len(told.sound) / INPUT_RATE, 3),
        wave=wave(told.sound, 0, len(told.sound), WHOLE),
        marks=_marks(told),
        errors=list(told.faults),
        strays=_strays(exchanges, told),
    )
    turns = [
        _turn(exchanges, number, told, repeat=repeat, warm=warm, index=index)
        for number in range(len(exchanges))
    ]
    turns += [
        _never_said(said, repeat=repeat, warm=warm, index=index) for said in clips[len(turns) :]
    ]
    return conversation, turns


def attribute(clips: Sequence[Said], told: Told) -> list[Exchange]:
    """Which turns each clip began. Clips that never began are left out."""
    found = []
    starts = list(told.clips)
    for number, (said, start) in enumerate(zip(clips, starts, strict=False)):
        end = start + round(said.duration_s * 1e9) + SLACK_NS
        until = starts[number + 1] - EARLY_NS if number + 1 < len(starts) else end
        mine = [t for t in told.turns if start - EARLY_NS <= _began(t) < min(until, end)]
        found.append(Exchange(said, start, tuple(sorted(mine, key=_began))))
    return found


def wave(sound: NDArray[np.int16], first: int, stop: int, buckets: int) -> Wave | None:
    """Peaks of frames `first` to `stop` of int16 [n, 2]; None of nothing."""
    first, stop = max(0, first), min(len(sound), stop)
    if stop <= first:
        return None
    part = sound[first:stop]
    return Wave(
        start_s=round(first / INPUT_RATE, 4),
        seconds=round((stop - first) / INPUT_RATE, 4),
        user=pack(peaks(part[:, USER], buckets)),
        voice=pack(peaks(part[:, VOICE], buckets)),
    )


def last_audible(sound: NDArray[np.int16]) -> int | None:
    """The sample behind the last 10 ms of at least -50 dBFS, of int16 [n]; None: there are none."""
    whole = len(sound) // AUDIBLE * AUDIBLE
    blocks = sound[:whole].reshape(-1, AUDIBLE).astype(np.float64)
    loud = np.flatnonzero(
        np.mean(blocks * blocks, axis=1) >= (amplitude(THRESHOLD_DBFS) * FULL_SCALE) ** 2
    )
    return (int(loud[-1]) + 1) * AUDIBLE if loud.size else None


def _began(turn: TurnEnded) -> int:
    """When its voice was noticed, monotonic ns; 0 of a turn without one."""
    return turn.timeline.at.get(Event.SPEECH_START, 0)


def _turn(
    exchanges: Sequence[Exchange], number: int, told: Told, *, repeat: int, warm: bool, index: int
) -> Turn:
    exchange = exchanges[number]
    said, ended = exchange.said, exchange.answered
    first = Turn(
        clip=said.path.name if said.say.noise_snr_db is None else said.say.file.rpartition("/")[2],
        repeat=repeat,
        outcome=(ended.timeline.outcome if ended else Outcome.NO_SPEECH).label,
        key=said.key,
        conversation=index,
        warm=warm,
        said=said.text,
        note=said.truncated,
        errors=list(told.faults),
        speech_end_source=said.speech_end_source,
        clip_start_s=_seconds(exchange.start, told),
        speech_start_s=_within(exchange, said.speech_start_s, told),
        speech_end_s=_within(exchange, said.speech_end_s, told),
        resumes=_count(told.records, Event.RESUME, exchange),
        **_words(exchange),
        **_interruption(exchanges, number, told),
    )
    return first.model_copy(update=_ended(exchange, told)) if ended else first


def _never_said(said: Said, *, repeat: int, warm: bool, index: int) -> Turn:
    """A clip that nobody saw begin: what is missing must not look as if it were well."""
    return Turn(
        clip=said.path.name,
        repeat=repeat,
        outcome=Outcome.NO_SPEECH.label,
        key=said.key,
        conversation=index,
        warm=warm,
        said=said.text,
        errors=["the clip never began: an edge died, or its events were lost"],
    )


def _ended(exchange: Exchange, told: Told) -> dict[str, object]:
    """What the turn's own timeline tells."""
    ended = exchange.answered
    assert ended
    timeline = ended.timeline
    heard = timeline.first_audio_ms
    by_vad = timeline.speech_end_source == "vad"
    phases = timeline.phases
    return {
        "transcript": " ".join(turn.transcript.strip() for turn in exchange.turns),
        "reply": ended.reply,
        "heard": ended.heard,
        "first_audio_ms": None if heard is None else round(heard, 1),
        "phases": {name: round(ms, 1) for name, ms in phases.items()},
        "speech_end_source": "vad" if by_vad else exchange.said.speech_end_source,
        "ids_early": timeline.early[0] if timeline.early else None,
        "ids_heard": timeline.early[1] if timeline.early else None,
        "ids_out": timeline.values.get(Event.LAST_ID),
        "ids_dropped": [ids for turn in exchange.turns for ids in turn.timeline.dropped],
        "cut_off": timeline.cut_off,
        "false_cut_offs": sum(turn.timeline.cut_off for turn in exchange.turns)
        or len(exchange.turns) - 1,
        "underruns_ms": [round(ns / 1e6, 1) for _, ns in timeline.underruns],
        "voice_late_ms": timeline.voice_late_ms,
        "events_lost": sum(turn.timeline.lost for turn in exchange.turns),
        "wave": _close_up(timeline.speech_end, phases, told),
    }


def _close_up(speech_end: int | None, phases: dict[str, float], told: Told) -> Wave | None:
    """From before the end of speech until behind the first audio, however late that is."""
    if speech_end is None:
        return None
    end_s = (speech_end - told.began) / 1e9
    shown = [ms / 1000 for name, ms in phases.items() if name not in ("last_id", "play_end")]
    start_s = end_s + min([0.0, *shown]) - BEFORE_S
    stop_s = end_s + max([0.0, *shown]) + BEHIND_S
    return wave(told.sound, round(start_s * INPUT_RATE), round(stop_s * INPUT_RATE), ZOOMED)


def _words(exchange: Exchange) -> dict[str, int]:
    """Word errors of all that was heard of a clip; nothing where nobody knows what is said."""
    if exchange.said.text is None or exchange.said.say.goes_on:
        return {}
    heard = " ".join(turn.transcript for turn in exchange.turns)
    wrong, words = word_errors(exchange.said.text, heard)
    return {"word_errors": wrong, "words": words}


def _interruption(exchanges: Sequence[Exchange], number: int, told: Told) -> dict[str, object]:
    """What a clip that came over an answer did to it."""
    exchange = exchanges[number]
    say = exchange.said.say
    if say.over_answer_ms is None:
        return {}
    cut = next((e for e in reversed(exchanges[:number]) if e.answered), None)
    if cut is None or cut.answered is None:
        return {"over_answer_ms": None}
    timeline = cut.answered.timeline
    began, over = timeline.at.get(Event.PLAY_START), timeline.at.get(Event.PLAY_END)
    if began is None or (over is not None and over <= exchange.start):
        return {"over_answer_ms": None}  # it came too late
    after_ms = round((exchange.start - began) / 1e6, 1)
    if say.goes_on:
        goes_on = timeline.outcome is Outcome.ANSWERED and not exchange.turns
        return {"over_answer_ms": after_ms, "goes_on": goes_on}
    interrupted = timeline.outcome is Outcome.INTERRUPTED
    silent = _silent_ms(exchange, began, told) if interrupted else None
    return {"over_answer_ms": after_ms, "interrupted": interrupted, "silent_ms": silent}


def _silent_ms(over: Exchange, play_start: int, told: Told) -> float | None:
    """From the first voiced sample of an interruption to the last audible one of the answer.

    None where it was silent before: it was between two words, and nobody waited for it.
    """
    if over.said.speech_start_s is None:
        return None
    onset = over.start + round(over.said.speech_start_s * 1e9)
    next_start = min(
        (t.timeline.at[Event.PLAY_START] for t in over.turns if Event.PLAY_START in t.timeline.at),
        default=told.began + round(len(told.sound) / INPUT_RATE * 1e9),
    )
    first, stop = (_frame(at, told) for at in (play_start, next_start))
    last = last_audible(told.sound[first:stop, VOICE])
    if last is None:
        return None
    silent = ((first + last) / INPUT_RATE * 1e9 + told.began - onset) / 1e6
    return round(silent, 1) if silent >= 0 else None


def _marks(told: Told) -> list[Mark]:
    kept = [r for r in told.records if Event(r.event) not in UNMARKED][:MARKS]
    return [
        Mark(
            at_s=_seconds(r.at, told),
            event=Event(r.event).name.lower(),
            value=r.value,
            turn=r.turn,
            answer=r.answer,
        )
        for r in kept
    ]


def _strays(exchanges: Sequence[Exchange], told: Told) -> int:
    mine = {turn.timeline.turn for exchange in exchanges for turn in exchange.turns}
    return sum(_began(turn) > 0 and turn.timeline.turn not in mine for turn in told.turns)


def _count(records: Iterable[EventRecord], event: Event, exchange: Exchange) -> int:
    mine = {turn.timeline.turn for turn in exchange.turns}
    return sum(r.event == event and r.turn in mine for r in records)


def _within(exchange: Exchange, seconds: float | None, told: Told) -> float | None:
    """A place in the clip, s from the start of the conversation."""
    return None if seconds is None else round(_seconds(exchange.start, told) + seconds, 4)


def _seconds(at: int, told: Told) -> float:
    return round((at - told.began) / 1e9, 4)


def _frame(at: int, told: Told) -> int:
    return max(0, round((at - told.began) * INPUT_RATE / 1e9))
