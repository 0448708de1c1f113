"""Many conversations that share one voice: the stage as it is, on the rings of one arena.

One lane asks short questions. The others listen to long replies, whose ids come faster than they
are said, so that the voice always has more to say until their rings are full.
"""

import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from benchmarks.result import Figure
from benchmarks.sample import median, percentile
from pipeline.config import Config
from pipeline.models.progress import silent
from ringbuf import Arena, BellPipe
from stages.event import Event
from stages.lane import Lane
from stages.runner import Runner
from stages.stage import Host, Stage
from stages.topology import AUDIO, CONTROL, LLM, STAGES, TTS, TURN, topology
from stages.tts.piper import PiperTts

LANES = 4  # whose figures have a name without a number
PACE = 20  # ids a second
LEAD_S = 2.0  # of the long replies
PAUSE_S = 0.5  # between first sound and the next question, and up to as much again
POLL_S = 0.004
LAG_NS = 10_000_000  # a block that is heard so late was not late, only seen late
LIMIT_S = 60.0  # of a run whose voice says nothing
CONTEXT = 1024


@dataclass(frozen=True)
class Question:
    """What the short answers say.

    Attributes:
        closes: which id closes the third word.
    """

    ids: Sequence[int]
    closes: int


@dataclass
class Found:
    """What was seen with some lanes.

    Attributes:
        waits: ms from the closing id to the first block, of each short answer.
        late: ms by which pieces came too late, as the stage tells it.
        sound, cpu: seconds of all lanes, and of the voice's thread.
    """

    waits: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    sound: float = 0.0
    cpu: float = 0.0


class Neighbour:
    """Everything around the voice, of one lane: writes the reply, and hears it at its own pace."""

    def __init__(self, arenas: dict[str, Arena], number: int) -> None:
        turn, llm, audio = (
            Lane(arenas[name].lane(number), name, arenas[name].events(name))
            for name in (TURN, LLM, AUDIO)
        )
        self.answer = 0
        self.put_at: list[int] = []  # monotonic ns of each id
        self.first: int | None = None  # monotonic ns of the answer's first block
        self._turn, self._reply, self._voice = turn, llm.reply, audio.voice
        self._ids: Sequence[int] = ()
        self._began = 0
        self._plays_on = 0

    def ask(self, ids: Sequence[int], now: int) -> None:
        """A new answer; the one before is no longer heard."""
        self.answer += 1
        self._turn.answer = self._turn.released = self.answer
        self._ids, self._began, self.put_at, self.first = ids, now, [], None

    def live(self, now: int) -> float:
        """Put the ids that are due and hear the blocks that are; seconds of sound taken."""
        due = min(len(self._ids), (now - self._began) * PACE // 10**9 + 1)
        for position in range(len(self.put_at), due):
            self._reply.put(self._ids[position], position=position, turn=1, answer=self.answer)
            self.put_at.append(time.monotonic_ns())
        return self._hear(now)

    def leave(self) -> float:
        """Hear no more; seconds of sound that lie on the ring."""
        self.answer += 1
        return self._hear(0)

    def _hear(self, now: int) -> float:
        """Take what is heard by now, and what nobody is to hear."""
        taken = 0.0
        while block := self._voice.peek():
            seconds = len(block.samples) / block.rate
            if block.answer == self.answer:
                self.first = self.first or block.stamp
                if self._plays_on > now:
                    break
                self._plays_on = max(self._plays_on, now - LAG_NS) + round(seconds * 1e9)
            taken += seconds
            self._voice.drop()
        return taken


class World(threading.Thread):
    """All neighbours, on whatever core is free, until so many questions were answered."""

    def __init__(
        self, arenas: dict[str, Arena], question: Question, replies: Sequence[Sequence[int]], n: int
    ) -> None:
        super().__init__(daemon=True)
        self.found = Found()
        self._events = arenas[CONTROL].events(TTS)
        self._asking, *self._listening = (
            Neighbour(arenas, number) for number in range(len(replies) + 1)
        )
        self._question, self._replies, self._n = question, replies, n
        self._cores = os.cpu_count() or 1

    def run(self) -> None:
        """Live."""
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, range(self._cores))  # the voice keeps one to itself
        dice = random.Random(6)
        next_at = time.monotonic_ns() + round(LEAD_S * 1e9)
        for listener, reply in zip(self._listening, self._replies, strict=True):
            listener.ask(reply, time.monotonic_ns() + dice.randrange(10**9))
        ends = next_at + round(LIMIT_S * 1e9)
        while len(self.found.waits) < self._n and (now := time.monotonic_ns()) < ends:
            if next_at and now >= next_at:
                self._asking.ask(self._question.ids, now)
                next_at = 0
            for neighbour in (self._asking, *self._listening):
                self.found.sound += neighbour.live(now)
            if not next_at and self._asking.first:
                closed = self._asking.put_at[self._question.closes]
                self.found.waits.append((self._asking.first - closed) / 1e6)
                next_at = now + round((1 + dice.random()) * PAUSE_S * 1e9)
            self._note_late()
            time.sleep(POLL_S)
        self.found.sound += sum(one.leave() for one in (self._asking, *self._listening))

    def _note_late(self) -> None:
        records = self._events.take()
        self.found.late += [r.value / 1e6 for r in records if r.event == Event.VOICE_LATE]


def loaded(config: Config) -> PiperTts:
    """The stage, ready to speak."""
    tts = config.tts.model_copy(update={"threads": 1})
    stage = PiperTts(Host(config, tts, time.monotonic_ns, silent))
    stage.load()
    return stage


def figures(
    stage: Stage,
    question: Question,
    replies: Sequence[Sequence[int]],
    lanes: Sequence[int],
    n: int,
) -> dict[str, Figure]:
    """What the benchmark tells of each number of lanes."""
    found: dict[str, Figure] = {}
    for count in lanes:
        seen = run(stage, question, replies[: count - 1], n)
        found |= {
            f"lanes_first_sound_p50_ms.{count}": median(seen.waits),
            f"lanes_first_sound_p95_ms.{count}": percentile(seen.waits, 95),
            f"lanes_real_time_factor.{count}": seen.cpu / seen.sound if seen.sound else None,
            f"lanes_late.{count}": len(seen.late),
        }
        if count == LANES:
            main = [name for name in found if name.endswith(f".{LANES}")]
            found |= {name.partition(".")[0]: found[name] for name in main}
    return found


def run(stage: Stage, question: Question, replies: Sequence[Sequence[int]], n: int) -> Found:
    """A lane that asks `n` times beside lanes with long replies.

    Args:
        stage: loaded; its core is the caller's.
        replies: ids, of each lane but the first.
    """
    with opened(len(replies) + 1) as arenas:
        runner = Runner(stage, arenas[TTS], time.monotonic_ns)
        runner.turn_over(range(len(replies) + 1))
        world = World(arenas, question, replies, n)
        cpu = time.thread_time()
        world.start()
        bell = arenas[TTS].bell
        while world.is_alive():
            runner.turn_over(bell.take())
            bell.park(min(runner.until_due(), 0.1))
        world.found.cpu = time.thread_time() - cpu
        world.join()
    return world.found


@contextmanager
def opened(lanes: int) -> Iterator[dict[str, Arena]]:
    """An arena by process, with a conversation on each lane."""
    layout = topology(lanes, CONTEXT)
    with ExitStack() as stack:
        bells = {name: BellPipe.create() for name in layout.processes}
        for bell in bells.values():
            stack.callback(bell.close)
        owner = stack.enter_context(Arena.create(layout, CONTROL, bells))
        arenas = {name: Arena.attach(os.dup(owner.fd), name, bells) for name in STAGES}
        for arena in arenas.values():
            stack.enter_context(arena)
        for number in range(lanes):
            owner.claim(number)
            lane = owner.lane(number)
            lane.set("session", lane.get("session") + 1)
        yield arenas | {CONTROL: owner}
