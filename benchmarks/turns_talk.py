"""A conversation in which each question comes over the answer to the one before."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice, pairwise
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from benchmarks.turns_clips import Said
from pipeline.client_lane import ClientLane
from pipeline.events import TurnEnded
from pipeline.pipeline import Pipeline
from stages.audio.audible import THRESHOLD_DBFS
from stages.audio.level import FULL_SCALE, amplitude
from stages.event import Event
from stages.messages import Played
from stages.outcome import Outcome

POLL_S = 0.01
PATIENCE_S = 15.0  # for an answer to sound
SETTLED_S = 1.5  # behind the last clip, for a voice to be noticed
LIMIT_S = 60.0  # for the last answer to end
SLACK_NS = 1_000_000_000
EARLY_NS = 100_000_000  # a clip begins with the block that is being recorded when it is ordered
NEVER = 1 << 63
WINDOW_S = 0.01  # of the level


@dataclass(frozen=True)
class Exchange:
    """A question and what came of it.

    Attributes:
        asked: monotonic ns at which its clip was ordered.
        turns: that began while it was heard; more than one: it was taken for several.
        wav: what was heard of the answer.
    """

    said: Said
    asked: int
    turns: tuple[TurnEnded, ...]
    wav: Path

    @property
    def turn(self) -> TurnEnded | None:
        """The turn that was answered."""
        return self.turns[-1] if self.turns else None

    @property
    def onset(self) -> int | None:
        """Monotonic ns of its first voiced sample; None if the edge did not tell."""
        if self.turn is None or self.turn.timeline.speech_end_source != "clip":
            return None
        end = self.turn.timeline.speech_end
        return None if end is None else end - self.said.voiced_ns


@dataclass(frozen=True)
class Interruption:
    """An answer that was talked over, and what came over it."""

    cut: Exchange
    over: Exchange

    @property
    def answer(self) -> TurnEnded | None:
        """The answer, if it was cut."""
        turn = self.cut.turn
        return turn if turn and turn.timeline.outcome is Outcome.INTERRUPTED else None


@dataclass(frozen=True)
class Manner:
    """How answers are talked over.

    Attributes:
        chain: answers of one conversation that are.
        earliest_s: of an answer, when the clip that comes over it begins.
        latest_s: and the latest.
        to_the_end: the last answer of a conversation is heard out.
    """

    chain: int
    earliest_s: float
    latest_s: float
    to_the_end: bool = True


async def interrupt(
    pipeline: Pipeline,
    questions: Sequence[Said],
    manner: Manner,
    tries: int,
    seed: int,
    folder: Path,
) -> list[Interruption]:
    """Talk over so many answers at random instants; those that ended too soon come on top.

    Raises:
        SessionError, StageError: the conversation or the pipeline broke.
    """
    chance, said = random.Random(seed), cycle(questions)
    done: list[Interruption] = []
    while (count := min(chain_of(tries, done), manner.chain)) > 0:
        waits = [chance.uniform(manner.earliest_s, manner.latest_s) for _ in range(count)]
        asked = list(islice(said, count + 1))
        done += await talk(
            pipeline, asked, waits, folder / str(len(done)), to_the_end=manner.to_the_end
        )
    return done


def chain_of(tries: int, done: Sequence[Interruption]) -> int:
    """Tries that are missing; none if as many as that came too late."""
    cut = sum(each.answer is not None for each in done)
    return tries - cut if len(done) - cut < tries else 0


async def talk(
    pipeline: Pipeline,
    said: Sequence[Said],
    waits_s: Sequence[float],
    folder: Path,
    *,
    to_the_end: bool = True,
) -> list[Interruption]:
    """Ask the first, then each of the others over the answer to the one before.

    Args:
        waits_s: how long each answer may sound, one less than `said`.
        folder: for the answers' WAV files.
        to_the_end: hear the last answer out.

    Raises:
        SessionError, StageError: the conversation or the pipeline broke.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asked: list[int] = []
    files = [folder / f"{number}.wav" for number in range(len(said))]
    async with await pipeline.open() as lane:
        for what, wav, wait_s in zip(said, files, (*waits_s, 0.0), strict=True):
            begun = lane.turns_begun
            asked.append(time.monotonic_ns())
            lane.play(what.path, speech_end_s=what.end_s, out=wav)
            await sounding(lane, begun)
            await asyncio.sleep(wait_s)
        turns = await told(lane, still_sounding=0 if to_the_end else 1)
    exchanges = attribute(said, asked, turns, files)
    return [Interruption(*pair) for pair in pairwise(exchanges)]


async def sounding(lane: ClientLane, begun: int) -> bool:
    """Wait for the answer to a turn behind the first `begun`; false: none came in time."""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        played = Played.unpack(lane.lane.get("played"))
        if (
            lane.clips_waiting == 0
            and lane.turns_begun > begun
            and played.answer == lane.lane.get("released") == lane.lane.get("answer")
        ):
            return True
        await asyncio.sleep(POLL_S)
    return False


async def told(lane: ClientLane, still_sounding: int = 0) -> list[TurnEnded]:
    """All turns so far, but for as many as still sound."""
    turns: list[TurnEnded] = []
    limit = time.monotonic() + LIMIT_S
    settled = time.monotonic() + SETTLED_S
    while time.monotonic() < limit:
        quiet = len(turns) >= lane.turns_begun - still_sounding and lane.clips_waiting == 0
        if quiet and (still_sounding or time.monotonic() >= settled):
            break
        try:
            async with asyncio.timeout(SETTLED_S):
                event = await lane.next_event()
        except TimeoutError:
            continue
        if isinstance(event, TurnEnded):
            turns.append(event)
    return turns


def attribute(
    said: Sequence[Said], asked: Sequence[int], turns: Sequence[TurnEnded], files: Sequence[Path]
) -> list[Exchange]:
    """Which turns each question began."""
    found = []
    starts = [at - EARLY_NS for at in asked]
    for what, at, following, wav in zip(said, starts, (*starts[1:], NEVER), files, strict=True):
        until = min(at + round(what.duration_s * 1e9) + SLACK_NS, following)
        mine = tuple(turn for turn in turns if at <= began(turn) < until)
        found.append(Exchange(what, at + EARLY_NS, mine, wav))
    return found


def began(turn: TurnEnded) -> int:
    """When a turn's voice began, monotonic ns; 0 of a turn without one."""
    return turn.timeline.at.get(Event.SPEECH_START, 0)


def read_wav(path: Path) -> tuple[NDArray[np.int16], int]:
    """A WAV file, int16 [n], and its rate; nothing where nothing was heard."""
    if not path.exists():
        return np.zeros(0, np.int16), 1
    samples, rate = soundfile.read(path, dtype="int16")
    return samples, rate


def last_audible(samples: NDArray[np.int16], rate: int) -> int:
    """The sample behind the last 10 ms of at least -50 dBFS; 0 if there are none."""
    size = max(1, round(WINDOW_S * rate))
    loud = (amplitude(THRESHOLD_DBFS) * FULL_SCALE) ** 2
    for start in range((len(samples) - 1) // size * size, -1, -size):
        part = samples[start : start + size].astype(np.float64)
        if part.size and float(part @ part) / part.size >= loud:
            return start + part.size
    return 0
