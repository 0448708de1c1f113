"""Runs, turns and conversations out of thin air."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.events import TurnEnded
from pipeline.lab.mix import Said
from pipeline.lab.run import Run, Turn
from pipeline.lab.suite import Saying
from pipeline.lab.target import Told
from pipeline.timeline import Timeline
from ringbuf import EventRecord
from stages.event import Event
from stages.outcome import Outcome

MS = 1_000_000
SECOND = 1_000 * MS
BEGAN = 50 * SECOND
PHASES = {
    "silence": 60.0,
    "decode_start": 62.0,
    "soft_end": 92.0,
    "transcript": 170.0,
    "prefill": 210.0,
    "first_id": 211.0,
    "first_words": 240.0,
    "release": 252.0,
    "first_sound": 295.0,
    "first_audio": 304.0,
    "last_id": 657.0,
    "play_end": 4000.0,
}


def turn(key: str = "q", ms: float | None = 304.0, repeat: int = 1, **more: object) -> Turn:
    """A turn that was answered; `ms` later moves its last phases along."""
    late = (ms or 304.0) - 304.0
    moved = {
        n: at + late if n in ("first_sound", "first_audio") else at for n, at in PHASES.items()
    }
    fields: dict[str, object] = {
        "clip": f"{key}.wav",
        "key": key,
        "repeat": repeat,
        "outcome": "answered",
        "reply": "Plants need water.",
        "first_audio_ms": ms,
        "phases": moved,
    }
    return Turn.model_validate(fields | more)


def run_of(*turns: Turn) -> Run:
    """A run of these."""
    return Run(voxring="0.1.0", turns=list(turns))


def said(key: str = "q", duration_s: float = 2.0, end_s: float | None = 1.5, **say: object) -> Said:
    """A clip in which somebody speaks from 0.5 s on."""
    return Said(
        say=Saying.model_validate({"file": f"{key}.wav", **say}),
        key=key,
        path=Path(f"{key}.wav"),
        duration_s=duration_s,
        text="what is it",
        speech_start_s=None if end_s is None else 0.5,
        speech_end_s=end_s,
        speech_end_source="manifest",
    )


def ended(
    began_s: float,
    end_s: float,
    number: int = 1,
    outcome: Outcome = Outcome.ANSWERED,
    transcript: str = "What is it?",
    **at_ms: float,
) -> TurnEnded:
    """A turn whose voice began and ended so many seconds into the conversation.

    Args:
        at_ms: events by name, ms after the end of speech.
    """
    end = BEGAN + round(end_s * SECOND)
    at = {Event[name.upper()]: end + round(ms * MS) for name, ms in at_ms.items()}
    at[Event.SPEECH_START] = BEGAN + round(began_s * SECOND)
    timeline = Timeline(
        lane=0,
        turn=number,
        answer=number,
        outcome=outcome,
        at=at,
        values={},
        speech_end=end,
        speech_end_source="clip",
    )
    return TurnEnded(timeline, transcript, "It is so.", "It is so.")


def told(
    clips_s: list[float],
    turns: list[TurnEnded],
    sound: NDArray[np.int16] | None = None,
    records: list[EventRecord] | None = None,
) -> Told:
    """What a target tells of clips that began at these seconds."""
    return Told(
        began=BEGAN,
        clips=tuple(BEGAN + round(at * SECOND) for at in clips_s),
        turns=tuple(turns),
        faults=(),
        records=tuple(records or ()),
        sound=np.zeros((16_000 * 10, 2), np.int16) if sound is None else sound,
    )
