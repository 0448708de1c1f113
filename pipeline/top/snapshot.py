"""What `voxring top` knows of a pipeline at one instant."""

import json
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Program:
    """One process.

    Attributes:
        state: awake, asleep, or dead.
        cpu_percent: of one core since the last look (the first: since it began to be looked at);
            None: not known.
        memory_mib: in RAM.
        restarts: how often it was started again.
        beat_s: since its last sign of life; None: it gives none.
        recoveries: wake-ups that only the safety timer noticed.
        events_lost: records of timelines that found no room.
    """

    name: str
    pid: int | None
    state: str
    cpu_percent: float | None
    memory_mib: float | None
    restarts: int
    beat_s: float | None
    recoveries: int
    events_lost: int


@dataclass(frozen=True)
class Ring:
    """One arrow of a lane.

    Attributes:
        filled, capacity: slots.
        rate_per_s: slots written since the last look.
        dropped: slots that found no room, ever.
    """

    name: str
    filled: int
    capacity: int
    rate_per_s: float
    dropped: int


@dataclass(frozen=True)
class Lane:
    """One conversation.

    Attributes:
        state: what goes on: listening, hearing, preparing, waiting, answering, held.
        turn: number of the user's utterance.
        turns: that have ended since it is looked at.
        last: how the last one ended; "": none has.
        first_audio_ms: of the last turns that had one, oldest first.
        phases: milestones of the last turn, ms after the end of the user's speech.
    """

    number: int
    session: int
    state: str
    turn: int
    turns: int
    last: str
    first_audio_ms: tuple[float, ...]
    phases: dict[str, float]
    rings: tuple[Ring, ...]


@dataclass(frozen=True)
class Snapshot:
    """The whole pipeline.

    Attributes:
        pid: of the program that holds it.
        lanes: there could be so many.
        memory_mib: of the arena.
        models: stage to what it runs.
    """

    pid: int
    lanes: int
    memory_mib: float
    models: dict[str, str]
    programs: tuple[Program, ...]
    open: tuple[Lane, ...] = field(default_factory=tuple)

    @property
    def json(self) -> str:
        """On one line."""
        return json.dumps(asdict(self))
