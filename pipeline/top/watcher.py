"""Looks at a running pipeline, again and again: its shared memory, and the kernel's accounts."""

import json
import os
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import ringbuf
from pipeline.cpu_time import cpu_ns
from pipeline.timeline import Collector, Timeline
from pipeline.top.programs import programs_of, resident_mib
from pipeline.top.snapshot import Lane, Program, Ring, Snapshot
from pipeline.top.state import state_of
from ringbuf import Arena, EventRecord
from stages.event import Event
from stages.outcome import Outcome
from stages.topology import CONTROL

SHOWN = ("mic", "speech", "heard", "reply", "voice")
KEPT = 20  # latencies of a lane
SECOND = 1_000_000_000


@dataclass
class _Talk:
    """What was seen of one conversation."""

    session: int
    turns: int = 0
    last: Timeline | None = None
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    written: dict[str, int] = field(default_factory=dict)  # heads at the last look


class Watcher:
    """Everything that is remembered from look to look.

    Args:
        pid: of the program that holds the pipeline, or of a stage.
        arena: mapped for reading.
        now: the clock of the pipeline, monotonic ns.
    """

    def __init__(self, pid: int, arena: Arena, now: Callable[[], int]) -> None:
        self.pid = pid
        self._arena = arena
        self._now = now
        self._positions: dict[str, int] = defaultdict(int)
        self._collector = Collector()
        self._talks: dict[int, _Talk] = {}
        self._programs: dict[str, int] = {}
        self._cpu: dict[int, int] = {}  # ns, at the last look
        self._looked = 0  # monotonic ns
        self._models = models_of(json.loads(arena.text))

    @property
    def is_over(self) -> bool:
        """The program that was given has ended."""
        return not Path(f"/proc/{self.pid}").exists()

    def look(self) -> Snapshot:
        """How things stand now."""
        now = self._now()
        past_ns = now - self._looked if self._looked else 0
        lanes = tuple(
            self._lane(number, past_ns)
            for number in range(self._arena.layout.lanes)
            if self._is_open(number)
        )
        self._follow()
        snapshot = Snapshot(
            pid=self.pid,
            lanes=self._arena.layout.lanes,
            memory_mib=os.fstat(self._arena.fd).st_blocks * 512 / 2**20,
            models=self._models,
            programs=self._look_at_programs(now, past_ns),
            open=tuple(self._with_turns(lane) for lane in lanes),
        )
        self._looked = now
        return snapshot

    def _is_open(self, number: int) -> bool:
        if not self._arena.is_claimed(number):
            self._talks.pop(number, None)
            return False
        return bool(self._arena.lane(number).get("session") % 2)

    def _lane(self, number: int, past_ns: int) -> Lane:
        """Words and rings of one lane; its turns are added when the events were read."""
        lane = self._arena.lane(number)
        words = lane.words
        talk = self._talks.get(number)
        if talk is None or talk.session != words["session"]:
            talk = self._talks[number] = _Talk(words["session"])
            self._collector.forget(number)
        rings = tuple(self._ring(lane, name, talk, past_ns) for name in SHOWN)
        state = state_of(words)
        return Lane(number, words["session"], state, words["turn"], 0, "", (), {}, rings)

    def _ring(self, lane: ringbuf.Lane, name: str, talk: _Talk, past_ns: int) -> Ring:
        ring = lane.rings[name]
        written = ring.written
        before = talk.written.get(name, written)
        talk.written[name] = written
        rate = (written - before) * SECOND / past_ns if past_ns else 0.0
        return Ring(name, len(ring), ring.spec.capacity, rate, ring.dropped)

    def _follow(self) -> None:
        """Read what was recorded since the last look; turns that ended become timelines."""
        records: list[EventRecord] = []
        for name in self._arena.layout.processes:
            found, self._positions[name] = self._arena.events(name).look(self._positions[name])
            records += found
        self._collector.add(records)
        for record in records:
            talk = self._talks.get(record.lane)
            if record.event == Event.OUTCOME and talk:
                self._end_turn(record, talk)

    def _end_turn(self, record: EventRecord, talk: _Talk) -> None:
        outcome = Outcome(record.value)
        timeline = self._collector.finish(record.lane, record.turn, record.answer, outcome, 0)
        talk.turns += 1
        talk.last = timeline
        if timeline.first_audio_ms is not None:
            talk.latencies.append(timeline.first_audio_ms)

    def _with_turns(self, lane: Lane) -> Lane:
        talk = self._talks[lane.number]
        last = talk.last
        return Lane(
            lane.number,
            lane.session,
            lane.state,
            lane.turn,
            talk.turns,
            last.outcome.label if last else "",
            tuple(talk.latencies),
            last.phases if last else {},
            lane.rings,
        )

    def _look_at_programs(self, now: int, past_ns: int) -> tuple[Program, ...]:
        alive = all(Path(f"/proc/{pid}").exists() for pid in self._programs.values())
        if not alive or not self._programs:
            self._programs = programs_of(self.pid)
        return tuple(self._program(name, now, past_ns) for name in self._arena.layout.processes)

    def _program(self, name: str, now: int, past_ns: int) -> Program:
        bell, events = self._arena.bell_of(name), self._arena.events(name)
        pid = self._programs.get(name)
        cpu, memory = self._usage(pid, past_ns)
        state = "dead" if bell.life % 2 else "asleep" if bell.asleep else "awake"
        beats = bell.beat and name != CONTROL
        beat = max(0, now - bell.beat) / SECOND if beats else None
        return Program(
            name, pid, state, cpu, memory, bell.life // 2, beat, bell.recoveries, events.dropped
        )

    def _usage(self, pid: int | None, past_ns: int) -> tuple[float | None, float | None]:
        """Share of a core, and memory; None where it cannot be known."""
        if pid is None:
            return None, None
        try:
            spent, memory = cpu_ns(pid), resident_mib(pid)
        except OSError:  # it has just ended
            return None, None
        before = self._cpu.get(pid)
        self._cpu[pid] = spent
        share = None if before is None or not past_ns else 100 * (spent - before) / past_ns
        return share, memory


def models_of(config: Mapping[str, object]) -> dict[str, str]:
    """What each stage runs, from the configuration in the arena."""
    found = {}
    for name, section in config.items():
        if isinstance(section, dict) and "stage" in section:
            model = "" if section["stage"] == "scripted" else section.get("model", "")
            found[name] = f"{section['stage']} {model}".rstrip()
    return found
