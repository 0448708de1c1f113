"""Whether a pipeline that runs for long stays as it was: memory, descriptors, latency.

A thousand conversations, one question each, and beside them half an hour of speech without a pause
in one conversation, whose turns are ended by their limit. What each of the five programs and the
client hold is noted every few seconds. A line through each quantity, without the first tenth,
tells what it grew by, with a confidence interval of 95 %; growth that is sure is the lower end of
that interval. Memory has another line through the second half alone: what fills up once is not a
leak.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile
from numpy.typing import NDArray

from benchmarks import metrics, usage
from benchmarks.command import (
    Progress,
    add_config_options,
    make_parser,
    positive,
    read_config,
    run,
)
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median
from benchmarks.sentences import SENTENCES
from benchmarks.trend import trend
from pipeline.client_lane import ClientLane
from pipeline.config import Config
from pipeline.errors import StageError
from pipeline.events import TurnEnded
from pipeline.models import resolve
from pipeline.pipeline import Pipeline
from pipeline.replay import Answer, Question, read_question, replay
from stages.audio.clip import load_clip
from stages.audio.convert import convert
from stages.event import Event
from stages.outcome import Outcome
from stages.topology import CONTROL, INPUT_RATE
from stages.tts.piper_model import PiperModel, VoiceSettings, find_voice
from stages.tts.piper_voice import PiperVoice

QUESTION = Path(__file__).parents[1] / "demos" / "question.wav"
CONVERSATIONS, QUICK_CONVERSATIONS = 1000, 24
MINUTES, QUICK_MINUTES = 30.0, 0.75
LANES = 3  # of conversations; one more has the speech
SETTINGS = (f"pipeline.lanes={LANES + 1}", "llm.max_new_tokens=8", "turn.max_turn_s=15")
EVERY_S, QUICK_EVERY_S = 5.0, 1.0
LOOP_S = 20.0  # of speech in one clip, about
PAUSE_S = 0.16
AHEAD = 2  # clips that wait behind the one that plays


Samples = list[tuple[float, float]]


class Part(StrEnum):
    """What goes on at once."""

    TALK = "talk"
    SPEECH = "speech"


@dataclass
class Noted:
    """What was seen on the way: (minutes since the start, value), in order.

    Attributes:
        memory_mib: of each program: what is its alone, and its share of the arena.
        descriptors: open in all programs.
        latency_ms: of each turn that has one, by `Part`.
        turns: by how they ended, by `Part`.
    """

    memory_mib: dict[str, Samples] = field(default_factory=lambda: defaultdict(list))
    descriptors: Samples = field(default_factory=list)
    latency_ms: dict[Part, Samples] = field(default_factory=lambda: defaultdict(list))
    turns: dict[Part, Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))
    began: float = field(default_factory=time.monotonic)

    @property
    def minutes(self) -> float:
        """Since the start."""
        return (time.monotonic() - self.began) / 60

    def end(self, part: Part, outcome: Outcome, latency_ms: float | None) -> None:
        """A turn has ended."""
        self.turns[part][outcome] += 1
        if latency_ms is not None:
            self.latency_ms[part].append((self.minutes, latency_ms))

    def look(self, pids: Mapping[str, int]) -> None:
        """Note what programs hold."""
        for name, pid in pids.items():
            self.memory_mib[name].append((self.minutes, usage.memory_mib(pid, usage.OWN)))
        descriptors = sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids.values())
        self.descriptors.append((self.minutes, descriptors))

    async def watch(self, pids: Mapping[str, int], every_s: float) -> None:
        """Note it again and again."""
        while True:
            self.look(pids)
            await asyncio.sleep(every_s)


Sound = NDArray[np.int16]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.SOAK, __doc__, "--config scripted --quick --json soak.json")
    add_config_options(parser)
    parser.add_argument("--clip", type=Path, default=QUESTION, help="the question")
    parser.add_argument("--conversations", type=positive, help="(1000; quick: 24)")
    parser.add_argument("--minutes", type=float, help="of speech without a pause (30; quick: 0.75)")
    run(
        metrics.SOAK,
        parser,
        arguments,
        lambda options, progress: asyncio.run(measure(options, progress)),
    )
    return 0


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        VoxringError: the clip cannot be read, or the pipeline fails.
    """
    before = load_now()
    quick = options.quick
    conversations = options.conversations or (QUICK_CONVERSATIONS if quick else CONVERSATIONS)
    minutes = options.minutes or (QUICK_MINUTES if quick else MINUTES)
    every_s = QUICK_EVERY_S if quick else EVERY_S
    question = read_question(options.clip)
    with TemporaryDirectory() as folder:
        config = read_config(options, *SETTINGS)
        async with Pipeline(config, progress.program) as pipeline:
            speech = write_speech(config, question, Path(folder) / "speech.wav")
            started = dict(pipeline.stages)
            noted = await soak(
                pipeline, question, conversations, speech, minutes, every_s, progress
            )
            restarts = sum(started[name] != pid for name, pid in pipeline.stages.items())
            recoveries = count_recoveries(pipeline)
    return make_result(
        metrics.SOAK.name,
        before=before,
        n=conversations,
        metrics={
            **figures(noted),
            "unanswered": conversations - noted.turns[Part.TALK][Outcome.ANSWERED],
            "failed": sum(
                turns[outcome]
                for turns in noted.turns.values()
                for outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
            ),
            "speech_turns": noted.turns[Part.SPEECH].total(),
            "restarts": restarts,
            "recoveries": recoveries,
        },
        settings={
            "quick": quick,
            "conversations": conversations,
            "minutes": minutes,
            "config": Path(options.config).name,
            "set": options.overrides,
        },
    )


def write_speech(config: Config, question: Question, path: Path) -> Path:
    """Speech that goes on: sentences of the configured voice, or, without one, the question.

    Pauses are those of breath: too short to end a turn, long enough to prepare an answer. A turn
    that was ended by its limit needs one, for none begins in mid-word.

    Raises:
        ModelError: the voice cannot be loaded.
    """
    parts, rate = (
        spoken(config) if config.tts.stage == "piper" else ([voiced(question)], INPUT_RATE)
    )
    pause = np.zeros(round(PAUSE_S * rate), np.int16)
    once = np.concatenate([sound for part in parts for sound in (part, pause)])
    soundfile.write(path, np.tile(once, max(1, round(LOOP_S * rate / len(once)))), rate)
    return path


def spoken(config: Config) -> tuple[list[Sound], int]:
    """What the configured voice says, int16, and its rate."""
    model = PiperModel.load(find_voice(resolve(config.tts.model)), VoiceSettings(threads=1))
    voice = PiperVoice.load(model)
    return [voice.synthesise(sentence) for sentence in SENTENCES], voice.rate


def voiced(question: Question) -> Sound:
    """A clip without the silence around its speech, int16 at INPUT_RATE."""
    clip = load_clip(question.path)
    samples = convert(clip.samples, clip.rate)
    first = int(np.flatnonzero(np.abs(samples) > np.abs(samples).max() // 10)[0])
    end = len(samples) if question.speech_end_s is None else int(question.speech_end_s * INPUT_RATE)
    return samples[first : max(end, first + 1)]


async def soak(
    pipeline: Pipeline,
    question: Question,
    conversations: int,
    speech: Path,
    minutes: float,
    every_s: float,
    progress: Progress,
) -> Noted:
    """Conversations and speech at once; what the programs hold is noted until both are over."""
    noted = Noted()
    pids = {CONTROL: os.getpid(), **pipeline.stages}
    watch = asyncio.create_task(noted.watch(pids, every_s))
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(talk(pipeline, question, conversations, noted, progress))
            group.create_task(speak(pipeline, speech, minutes, noted, progress))
    finally:
        watch.cancel()
        (trouble,) = await asyncio.gather(watch, return_exceptions=True)
    if isinstance(trouble, OSError):
        raise StageError("a program ended on the way", "Its own messages stand above")
    noted.look(pids)
    return noted


async def talk(
    pipeline: Pipeline, question: Question, conversations: int, noted: Noted, progress: Progress
) -> None:
    """So many conversations with one question each, on a few lanes at once."""

    def tell(answer: Answer) -> None:
        turn = answer.turn
        noted.end(Part.TALK, answer.outcome, turn.timeline.first_audio_ms if turn else None)
        done = noted.turns[Part.TALK].total()
        progress(f"conversation {done} of {conversations}, {noted.minutes:.0f} minutes")

    shares = [conversations // LANES + (n < conversations % LANES) for n in range(LANES)]
    await asyncio.gather(
        *(replay(pipeline, [question], repeat=share, on_answer=tell) for share in shares if share)
    )


async def speak(
    pipeline: Pipeline, clip: Path, minutes: float, noted: Noted, progress: Progress
) -> None:
    """One conversation in which the user does not stop; its turns are ended by their limit."""
    end = asyncio.get_running_loop().time() + minutes * 60
    async with await pipeline.open() as lane:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                await hear(lane, clip, noted)
    progress(f"speech ended after {minutes:g} minutes")


async def hear(lane: ClientLane, clip: Path, noted: Noted) -> None:
    """Keep clips waiting, and follow what happens, for ever."""
    while True:
        while lane.clips_waiting <= AHEAD:
            lane.play(clip)
        event = await lane.next_event()
        if isinstance(event, TurnEnded):
            at = event.timeline.at
            decoded = at.get(Event.FINAL, 0) - at.get(Event.SOFT_END, 0)
            is_whole = Event.FINAL in at and Event.SOFT_END in at
            noted.end(Part.SPEECH, event.timeline.outcome, decoded / 1e6 if is_whole else None)


def figures(noted: Noted) -> dict[str, Figure]:
    """What each quantity grew by."""
    latency = {f"{part}_latency_ms": noted.latency_ms[part] for part in Part}
    values: dict[str, Figure] = {
        f"{name.removesuffix('_ms')}_p50_ms": median(value for _, value in samples)
        for name, samples in latency.items()
    }
    memory = total(noted.memory_mib.values())
    values["memory_p50_mib"] = median(value for _, value in memory)
    values["minutes"] = noted.minutes
    growing = {
        "memory_mib": memory,
        "late_memory_mib": late(memory),
        "descriptors": noted.descriptors,
        **latency,
    }
    for name, samples in growing.items():
        found = trend(samples)
        values[name] = found.growth if found else None
        values[f"{name}.low"] = found.low if found else None
        values[f"{name}.high"] = found.high if found else None
        values[f"sure_{name}"] = found.sure if found else None
    for program, samples in noted.memory_mib.items():
        for name, part in (("memory_mib", samples), ("late_memory_mib", late(samples))):
            found = trend(part)
            values[f"{name}.{program}"] = found.growth if found else None
    return values


def late(samples: Samples) -> Samples:
    """The second half."""
    return samples[len(samples) // 2 :]


def total(parts: Iterable[Samples]) -> Samples:
    """Samples that were taken together, added up."""
    return [(each[0][0], sum(value for _, value in each)) for each in zip(*parts, strict=True)]


def count_recoveries(pipeline: Pipeline) -> int:
    """Wake-ups that only the safety timer noticed."""
    supervisor = pipeline._supervisor
    assert supervisor
    return sum(supervisor.arena.bell_of(name).recoveries for name in supervisor.layout.processes)


if __name__ == "__main__":
    sys.exit(main())
