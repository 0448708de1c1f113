"""One graph of `overhead` as a program: it converses as it is told, and tells what that took.

`python -m benchmarks.overhead_graph ring --lanes 4 --work-ms 0`; benchmarks/overhead.py starts it.
A line of JSON in (how many lanes, turns, pauses), a line out, until the input ends.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import soundfile

from benchmarks import overhead_stages, usage
from benchmarks.command import FAILED, INTERRUPTED
from benchmarks.overhead_stages import FOLDER, HOPS, WORK_MS
from benchmarks.queue_graph import PIPELINES, pids, recoveries
from pipeline.config import Config, builtin_configs, load_config
from pipeline.errors import VoxringError
from pipeline.events import TurnEnded
from pipeline.pipeline import Pipeline
from ringbuf import die_with_parent
from stages.outcome import Outcome
from stages.topology import INPUT_RATE

ROOT = Path(__file__).parents[1]
SPEECH_S = 0.16
TURN_S = 20.0  # after which an answer is not waited for any more
SETTINGS = (
    'audio.stage="benchmarks.overhead_stages:NotedAudio"',
    'turn.stage="benchmarks.overhead_stages:NotedTurn"',
    'asr.stage="benchmarks.overhead_stages:NotedAsr"',
    'llm.stage="benchmarks.overhead_stages:NotedLlm"',
    'tts.stage="benchmarks.overhead_stages:NotedTts"',
    'llm.options={replies = ["Yes."]}',
    "tts.options={tone_ms = 40}",
    "turn.release_ms=160",
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", choices=PIPELINES)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--work-ms", type=float, default=0)
    options = parser.parse_args(arguments)
    die_with_parent()
    with TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.mkdir()
        os.environ |= {
            FOLDER: str(notes),
            WORK_MS: str(options.work_ms),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        }
        clip = write_clip(Path(folder) / "clip.wav")
        try:
            asyncio.run(serve(options.graph, settings(options.lanes), notes, clip))
        except VoxringError as error:
            sys.stderr.write(f"error: {error}\n")
            return FAILED
        except KeyboardInterrupt:  # whoever started this tells of it
            return INTERRUPTED
    return 0


def write_clip(path: Path) -> Path:
    """Something loud and short."""
    times = np.arange(int(SPEECH_S * INPUT_RATE)) / INPUT_RATE
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 220 * times), INPUT_RATE)
    return path


def settings(lanes: int) -> Config:
    """Scripted stages without any time of their own."""
    path = builtin_configs()["scripted"]
    return load_config(path, [*SETTINGS, f"pipeline.lanes={lanes}"])


async def serve(graph: str, config: Config, notes: Path, clip: Path) -> None:
    """Do as the lines say."""
    async with PIPELINES[graph](config) as pipeline:
        tell(ready=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            tell(**await take_round(pipeline, json.loads(line), notes, clip))


def tell(**what: Any) -> None:
    """One line for whoever started this."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def take_round(
    pipeline: Pipeline, order: dict[str, Any], notes: Path, clip: Path
) -> dict[str, Any]:
    """Hold conversations on some lanes at once.

    Args:
        order: `lanes`, `turns` on each, `pause_s` (at least, at most) before each, and `seed`.
    """
    chance = random.Random(order["seed"])
    programs = pids(pipeline)
    earlier, began = usage.take(programs), time.monotonic()
    answered = await asyncio.gather(
        *(
            converse(pipeline, clip, order["turns"], order["pause_s"], chance)
            for _ in range(order["lanes"])
        )
    )
    later, ended = usage.take(programs), time.monotonic()
    cpu_ns = sum(later.programs[name].cpu_ns - earlier.programs[name].cpu_ns for name in programs)
    return {
        "samples": samples(overhead_stages.read(notes)),
        "turns": order["turns"] * order["lanes"],
        "unanswered": order["turns"] * order["lanes"] - sum(answered),
        "cpu_ms": cpu_ns / 1e6,
        "wall_s": ended - began,
        "recoveries": recoveries(pipeline),
    }


async def converse(
    pipeline: Pipeline, clip: Path, turns: int, pause_s: Sequence[float], chance: random.Random
) -> int:
    """One conversation; how many of its turns were answered."""
    answered = 0
    async with await pipeline.open() as lane:
        for _ in range(turns):
            await asyncio.sleep(chance.uniform(*pause_s))
            lane.play(clip)
            try:
                async with asyncio.timeout(TURN_S):
                    while not isinstance(event := await lane.next_event(), TurnEnded):
                        pass
            except TimeoutError:
                continue
            answered += event.timeline.outcome is Outcome.ANSWERED
    return answered


def samples(records: Iterable[tuple[str, int, int, int, int, int]]) -> list[list[list[int]]]:
    """For each answer whose four messages were all noted: put and taken of each, by hop."""
    answers: dict[tuple[int, int, int], dict[str, list[int]]] = defaultdict(dict)
    for hop, lane, session, answer, put, taken in records:
        answers[lane, session, answer][hop] = [put, taken]
    return [
        [hops[hop] for hop in HOPS] for hops in answers.values() if all(hop in hops for hop in HOPS)
    ]


if __name__ == "__main__":
    sys.exit(main())
