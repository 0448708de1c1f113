"""A long conversation through the real PortAudio: what it costs, what it loses, whether it grows.

Room tone all the time and a question now and then, on the devices of a PulseAudio server of the
benchmark's own. Cores are measured while only the room is heard, at the beginning and at the end.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks import metrics, usage
from benchmarks.asr_clips import RECORDINGS
from benchmarks.command import Progress, add_config_options, make_parser, read_config, run
from benchmarks.device_rig import Exchange, Spoken, ask, read_questions, require_server, server_in
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sound_server import SoundServer
from pipeline.client_lane import ClientLane
from pipeline.pipeline import Pipeline
from stages.audio.room_tone import RoomTone
from stages.outcome import Outcome
from stages.topology import CONTROL, INPUT_RATE

QUESTIONS = ("dog-or-cat.mp3", "seine.mp3", "cars.wav")
ROOM, SPEAKER = "room", "speaker"
MICROPHONE, LOUDSPEAKER = "long microphone", "long loudspeaker"
SETTINGS = (
    'audio.stage="device"',
    f'audio.input="{MICROPHONE}"',
    f'audio.output="{LOUDSPEAKER}"',
    "llm.max_new_tokens=40",
    "llm.context=512",  # full before the memory is first looked at: a conversation grows until then
)
SETTLE_S = 3.0


@dataclass(frozen=True)
class Plan:
    """How long.

    Attributes:
        seconds: in all.
        look_s: of each of the two looks at the cores.
        pause_s: between an answer and the next question.
    """

    seconds: float
    look_s: float
    pause_s: float


FULL = Plan(seconds=600, look_s=60, pause_s=10)
QUICK = Plan(seconds=75, look_s=15, pause_s=3)


@dataclass
class Long:
    """What was found.

    Attributes:
        first, last: percent of one core, by program, while the room is heard.
        memory: MiB of each program half-way; `later`: at the end.
        lost: samples of the microphone that found no room.
    """

    first: dict[str, float]
    last: dict[str, float]
    memory: dict[str, float]
    later: dict[str, float]
    xruns: int
    lost: int
    corrections: int
    exchanges: list[Exchange] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.DEVICE_LONG, __doc__, "--quick --json device_long.json")
    add_config_options(parser)
    parser.add_argument("--recordings", type=Path, default=RECORDINGS, help="folder of clips")
    run(
        metrics.DEVICE_LONG,
        parser,
        arguments,
        lambda options, progress: asyncio.run(measure(options, progress)),
    )
    return 0


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole conversation.

    Raises:
        AudioError: there is no sound server here, or a clip cannot be read.
        VoxringError: the pipeline fails.
    """
    require_server()
    before = load_now()
    plan = QUICK if options.quick else FULL
    questions = read_questions([options.recordings / name for name in QUESTIONS])
    config = read_config(options, *SETTINGS)
    with (
        tempfile.TemporaryDirectory(prefix="voxring-") as folder,
        server_in(Path(folder)) as server,
    ):
        for device in (ROOM, SPEAKER):
            server.plug(device, rate=48_000, channels=1, sample_format="int16")
        server.microphone(MICROPHONE, ROOM)
        server.speaker(LOUDSPEAKER, SPEAKER)
        async with Pipeline(config, progress.program) as pipeline:
            pids = {CONTROL: os.getpid(), **pipeline.stages}
            async with await pipeline.open() as lane:
                found = await converse(server, lane, pids, questions, plan, progress)
    return make_result(
        metrics.DEVICE_LONG.name,
        before=before,
        n=len(found.exchanges),
        metrics=figures(found),
        settings={
            "quick": options.quick,
            "seconds": plan.seconds,
            "config": Path(options.config).name,
            "set": options.overrides,
        },
        packages=("sounddevice", "soxr"),
    )


async def converse(
    server: SoundServer,
    lane: ClientLane,
    pids: Mapping[str, int],
    questions: Sequence[Spoken],
    plan: Plan,
    progress: Progress,
) -> Long:
    """Room tone, questions, room tone."""
    end = time.monotonic() + plan.seconds
    tone = np.tile(RoomTone().take(1 << 16), 1 + round((plan.seconds + 120) * INPUT_RATE) // 65536)
    room = server.say(ROOM, tone, INPUT_RATE)
    try:
        exchanges = [await say(server, lane, questions[0])]
        progress(f"listening to the room, {plan.look_s:.0f} s")
        first = await look(pids, plan.look_s)
        memory: dict[str, float] = {}
        while time.monotonic() < end - plan.look_s - SETTLE_S:
            if not memory and time.monotonic() > end - plan.seconds / 2:
                memory = _memory(pids)
            said = questions[len(exchanges) % len(questions)]
            progress(f"question {len(exchanges) + 1}")
            exchanges.append(await say(server, lane, said))
            await asyncio.sleep(plan.pause_s)
        progress(f"listening to the room, {plan.look_s:.0f} s")
        last = await look(pids, plan.look_s)
        state, lost = lane.device, lane.lane.audio("mic").dropped
        return Long(
            first, last, memory, _memory(pids), state.xruns, lost, state.corrections, exchanges
        )
    finally:
        room.terminate()
        room.wait(10)


async def say(server: SoundServer, lane: ClientLane, said: Spoken) -> Exchange:
    """One question; the sound of its answer is not kept, for memory is what is looked at."""
    exchange = await ask(server, lane, said, ROOM, SPEAKER)
    return replace(exchange, answer=exchange.answer[:0].copy())


async def look(pids: Mapping[str, int], seconds: float) -> dict[str, float]:
    """Percent of one core, by program."""
    await asyncio.sleep(SETTLE_S)
    earlier = usage.take(pids)
    await asyncio.sleep(seconds)
    return usage.take(pids).cpu_percent(earlier)


def _memory(pids: Mapping[str, int]) -> dict[str, float]:
    return {name: usage.memory_mib(pid, usage.OWN) for name, pid in pids.items()}


def figures(found: Long) -> dict[str, Figure]:
    """All metrics."""
    cores = {name: max(found.first[name], found.last[name]) for name in found.first}
    growth = {name: found.later[name] - found.memory[name] for name in found.memory}
    answered = [
        each
        for each in found.exchanges
        if each.ended and each.ended.timeline.outcome is Outcome.ANSWERED
    ]
    return {
        "listening_cpu_percent": max(sum(found.first.values()), sum(found.last.values())),
        **{f"listening_cpu_percent.{name}": value for name, value in cores.items()},
        "memory_growth_mib": sum(growth.values()),
        **{f"memory_growth_mib.{name}": value for name, value in growth.items()},
        "xruns": found.xruns,
        "lost_samples": found.lost,
        "gaps": sum(len(each.ended.timeline.underruns) for each in answered if each.ended),
        "corrections": found.corrections,
        "questions": len(found.exchanges),
        "unanswered": len(found.exchanges) - len(answered),
    }


if __name__ == "__main__":
    sys.exit(main())
