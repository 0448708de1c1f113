"""How a conversation feels: how soon it answers, how soon it is silent, what it remembers.

Everything is played in real time into a running pipeline with its real models, but for false
cut-offs: there the real detectors hear twelve variants of each recording on the sound's own clock.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import (
    metrics,
    turns_backchannels,
    turns_barge_in,
    turns_cuts,
    turns_echo,
    turns_heard,
    turns_latency,
)
from benchmarks.asr_clips import RECORDINGS
from benchmarks.command import (
    Progress,
    add_config_options,
    make_parser,
    read_config,
    run,
)
from benchmarks.judge import Judge
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.turns_clips import Said, read_said
from benchmarks.turns_talk import Interruption, Manner, interrupt
from pipeline.config import Config
from pipeline.pipeline import Pipeline
from pipeline.tokenizer import vocabulary_for

QUESTIONS = ("dog-or-cat.mp3", "seine.mp3", "cars.wav")
JUDGE = "bundle:whisper-base"
SEED = 7


@dataclass(frozen=True)
class Plan:
    """How much of each.

    Attributes:
        repeat: of each question.
        off: the same without speculation.
        tries: interruptions, with the voice and with tones.
        voices: that bring no words, over answers.
        variants: of each recording; None: all.
        echo_s: of answers that the microphone hears, in each of two conversations.
    """

    repeat: int
    off: int
    tries: int
    voices: int
    variants: int | None
    echo_s: float


FULL = Plan(repeat=10, off=3, tries=30, voices=12, variants=None, echo_s=30)
QUICK = Plan(repeat=2, off=1, tries=4, voices=4, variants=2, echo_s=5)


@dataclass
class Bench:
    """What every part is given."""

    options: argparse.Namespace
    plan: Plan
    progress: Progress
    folder: Path

    @property
    def clips(self) -> list[Path]:
        """The recorded questions."""
        return [self.options.recordings / name for name in QUESTIONS]

    def config(self, *settings: str) -> Config:
        """The one that was asked for, with a part's own settings under it."""
        return read_config(self.options, *settings)

    def pipeline(self, config: Config) -> Pipeline:
        """Programs that say what they do while they start."""
        return Pipeline(config, self.progress.program)

    def said(self) -> list[Said]:
        """The questions, as they are said over an answer."""
        return read_said(self.clips, self.folder)

    async def interrupt(self, pipeline: Pipeline, manner: Manner, name: str) -> list[Interruption]:
        """Questions over answers; a folder of that name gets what was heard of these."""
        return await interrupt(
            pipeline, self.said(), manner, self.plan.tries, SEED, self.folder / name
        )


Part = Callable[[Bench], Awaitable[dict[str, Figure]]]


async def latency(bench: Bench) -> dict[str, Figure]:
    """First audio."""
    config = bench.config(*turns_latency.SETTINGS)
    off_settings = turns_latency.without_speculation(config.turn)
    off_config = bench.config(*turns_latency.SETTINGS, *off_settings)
    plan = bench.plan
    async with bench.pipeline(config) as pipeline:
        answers = await turns_latency.ask(pipeline, bench.clips, plan.repeat, bench.progress)
    async with bench.pipeline(off_config) as pipeline:
        off = await turns_latency.ask(pipeline, bench.clips, plan.off, bench.progress)
    return turns_latency.figures(answers, off)


async def barge_in(bench: Bench) -> dict[str, Figure]:
    """Questions over answers, and what an independent Whisper heard of these."""
    async with bench.pipeline(bench.config(*turns_barge_in.SETTINGS)) as pipeline:
        bench.progress("talking over answers")
        tries = await bench.interrupt(pipeline, turns_barge_in.MANNER, "barge-in")
    turns_barge_in.tell_faults(tries, bench.progress)
    bench.progress("what was heard of them")
    return turns_barge_in.figures(tries) | turns_barge_in.judged(tries, Judge(JUDGE))


async def heard(bench: Bench) -> dict[str, Figure]:
    """The same with a voice of tones, which can be read."""
    config = bench.config(*turns_heard.SETTINGS)
    async with bench.pipeline(config) as pipeline:
        bench.progress("talking over tones")
        tries = await bench.interrupt(pipeline, turns_heard.MANNER, "heard")
    vocabulary = vocabulary_for(config)
    turns_heard.tell_faults(tries, vocabulary, bench.progress)
    return turns_heard.figures(tries, vocabulary)


async def backchannels(bench: Bench) -> dict[str, Figure]:
    """Voices and noise over answers that are no reason to stop."""
    config = bench.config(*turns_barge_in.SETTINGS)
    bench.progress("uh-huh")
    spoken = turns_backchannels.make(config, bench.folder, SEED)
    async with bench.pipeline(config) as pipeline:
        tries = await turns_backchannels.murmur(
            pipeline, bench.said()[0], spoken, bench.plan.voices, SEED, bench.folder
        )
    turns_backchannels.tell_faults(tries, bench.progress)
    return turns_backchannels.figures(tries)


async def cuts(bench: Bench) -> dict[str, Figure]:
    """Pauses that are taken for an end."""
    return turns_cuts.measure(
        bench.options.recordings, bench.config(), bench.plan.variants, bench.progress
    )


async def echo(bench: Bench) -> dict[str, Figure]:
    """A loudspeaker that the microphone hears."""
    return await turns_echo.measure(
        bench.config, bench.pipeline, bench.said()[0], bench.plan.echo_s, bench.progress
    )


PARTS: Mapping[str, Part] = {
    "latency": latency,
    "barge-in": barge_in,
    "heard": heard,
    "backchannels": backchannels,
    "cuts": cuts,
    "echo": echo,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.TURNS, __doc__, "--only latency,cuts --json turns.json")
    add_config_options(parser)
    parser.add_argument(
        "--only",
        type=parts,
        default=list(PARTS),
        metavar="PART,PART",
        help=f"of {', '.join(PARTS)}; all of them by default",
    )
    parser.add_argument("--recordings", type=Path, default=RECORDINGS, help="folder of clips")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what was played there")
    run(
        metrics.TURNS,
        parser,
        arguments,
        lambda options, progress: asyncio.run(measure(options, progress)),
    )
    return 0


def parts(text: str) -> list[str]:
    """Names of parts from the command line. Raises ArgumentTypeError."""
    names = text.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"no part {unknown[0]!r}, but {', '.join(PARTS)}")
    return names


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The parts that were asked for, one after the other.

    Raises:
        VoxringError: a clip cannot be read, or a pipeline fails.
    """
    before = load_now()
    found: dict[str, Figure] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        plan = QUICK if options.quick else FULL
        bench = Bench(options, plan, progress, folder)
        for name in options.only:
            found |= await PARTS[name](bench)
    return make_result(
        metrics.TURNS.name,
        before=before,
        n=count(found),
        metrics=found,
        settings={
            "quick": options.quick,
            "parts": options.only,
            "clips": list(QUESTIONS),
            "config": Path(options.config).name,
            "set": options.overrides,
        },
    )


def count(found: Mapping[str, Figure]) -> int:
    """Samples of the first part that was run."""
    counts = ("turns", "tries", "heard_tries", "murmurs", "pauses", "echo_s")
    return next((int(found[name] or 0) for name in counts if name in found), 0)


if __name__ == "__main__":
    sys.exit(main())
