"""How long after the end of a recorded question its answer is heard, as `voxring replay` does it.

To compare two settings, run it twice with different `--set`.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import metrics
from benchmarks.command import (
    Progress,
    add_config_options,
    make_parser,
    positive,
    read_config,
    run,
)
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median, percentile
from pipeline.config import Config
from pipeline.pipeline import Pipeline
from pipeline.replay import Answer, read_question, replay
from pipeline.report import latencies
from pipeline.timeline import MILESTONES
from stages.outcome import Outcome

QUESTION = Path(__file__).parents[1] / "demos" / "question.wav"
REPEAT, QUICK_REPEAT = 10, 3


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(
        metrics.FIRST_AUDIO, __doc__, "--clips a.wav b.mp3 --set turn.release_ms=400"
    )
    add_config_options(parser)
    parser.add_argument("--clips", type=Path, nargs="+", default=[QUESTION], help="sound files")
    parser.add_argument(
        "--repeat", type=positive, help=f"of each clip ({REPEAT}; quick: {QUICK_REPEAT})"
    )
    parser.add_argument("--warmup", type=int, default=1, help="uncounted turns of each clip before")
    run(
        metrics.FIRST_AUDIO,
        parser,
        arguments,
        lambda options, progress: asyncio.run(measure(options, read_config(options), progress)),
    )
    return 0


async def measure(options: argparse.Namespace, config: Config, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        VoxringError: a clip cannot be read, or the pipeline fails.
    """
    before = load_now()
    questions = [read_question(clip) for clip in options.clips]
    repeat = options.repeat or (QUICK_REPEAT if options.quick else REPEAT)
    async with Pipeline(config, progress.program) as pipeline:
        progress("warming up")
        if options.warmup:
            await replay(pipeline, questions, repeat=options.warmup)
        answers = await replay(
            pipeline,
            questions,
            repeat=repeat,
            on_answer=lambda answer: progress(describe(answer, repeat)),
        )
    return make_result(
        metrics.FIRST_AUDIO.name,
        before=before,
        n=len(latencies(answers)),
        metrics=figures(answers),
        settings={
            "quick": options.quick,
            "clips": [clip.name for clip in options.clips],
            "repeat": repeat,
            "config": Path(options.config).name,
            "set": options.overrides,
        },
    )


def describe(answer: Answer, repeat: int) -> str:
    """A turn as one line."""
    heard = latencies([answer])
    latency = f"{heard[0]:.0f} ms" if heard else answer.outcome.label
    return f"{answer.question.path.name} {answer.repeat} of {repeat}: {latency}"


def figures(answers: Sequence[Answer]) -> dict[str, Figure]:
    """All metrics of some turns."""
    sample = latencies(answers)
    turns = [answer.turn for answer in answers if answer.turn]
    return {
        "first_audio_p50_ms": median(sample),
        **clip_medians(answers),
        "first_audio_p95_ms": percentile(sample, 95),
        "first_audio_max_ms": max(sample, default=None),
        "reply_words_p50": median(len(turn.reply.split()) for turn in turns),
        "turns": len(answers),
        "unanswered": sum(answer.outcome is not Outcome.ANSWERED for answer in answers),
        "cut_offs": sum(turn.timeline.cut_off for turn in turns),
        "underruns": sum(len(turn.timeline.underruns) for turn in turns),
        **phase_medians(turn.timeline.phases for turn in turns),
    }


def clip_medians(answers: Sequence[Answer]) -> dict[str, Figure]:
    """First-audio latency of each clip; nothing if there is only one."""
    names = list(dict.fromkeys(answer.question.path.stem for answer in answers))
    if len(names) < 2:
        return {}
    return {
        f"first_audio_p50_ms.{name}": median(
            latencies(answer for answer in answers if answer.question.path.stem == name)
        )
        for name in names
    }


def phase_medians(turns: Iterable[dict[str, float]]) -> dict[str, Figure]:
    """When each milestone was reached, ms after the end of speech, over the turns that did."""
    listed = list(turns)
    return {
        f"phase_{name}_p50_ms": median(phases[name] for phases in listed if name in phases)
        for name in MILESTONES
    }


if __name__ == "__main__":
    sys.exit(main())
