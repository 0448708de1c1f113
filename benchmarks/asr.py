"""When spoken words are on the language model's ring, and whether they are right.

Recorded clips at real-time pace through the real rings, the real voice activity detector and the
real recogniser, stepped in one thread, with all computing in the figures. Before that, the decode
of whole clips against faster-whisper's own. At the end, three clips at once on one recogniser.

--long and --sweep are runs of their own, on a clock that skips waiting: it advances by the time of
the sound or of the work, whichever is later.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import asr_long, asr_sweep, metrics
from benchmarks.asr_clips import RECORDINGS, Spoken, Word, read_clips, timed_words
from benchmarks.asr_figures import Heed, Reader, figures
from benchmarks.asr_final import compare
from benchmarks.asr_live import Clock, Live
from benchmarks.command import Progress, add_config_options, make_parser, read_config, run
from benchmarks.result import Figure, Result, load_now, make_result
from pipeline.config import Config
from pipeline.models import resolve
from stages.asr.whisper import Whisper

TRUTH = "bundle:whisper-base"  # whose word timestamps count
ONE_THREAD = ("asr.threads=1", "turn.threads=1")
REPEATS, ROUNDS, TRIOS = 5, 2, 3
QUICK_REPEATS, QUICK_ROUNDS, QUICK_TRIOS = 3, 1, 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.ASR, __doc__, "--set asr.step_ms=500 --json asr.json")
    add_config_options(parser)
    parser.add_argument("--recordings", type=Path, default=RECORDINGS, help="folder of clips")
    parser.add_argument("--long", action="store_true", help="30 minutes of speech as one turn")
    parser.add_argument("--sweep", action="store_true", help="steps, agreements and windows")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="of the sweep, as SVG")
    run(metrics.ASR, parser, arguments, measure)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The run that was asked for.

    Raises:
        VoxringError: a clip or a model cannot be read.
    """
    config = read_config(options, *ONE_THREAD)
    before = load_now()
    clips = read_clips(options.recordings)
    progress("when each word ends")
    truth = Truth(clips)
    benchmark, n, found = metrics.ASR, 0, dict[str, Figure]()
    if options.long:
        benchmark = metrics.ASR_LONG
        n, found = asr_long.measure(clips, truth.words, config, options.quick, progress)
    elif options.sweep:
        benchmark = metrics.ASR_SWEEP
        n, found = asr_sweep.measure(clips, truth.words, config, options.quick, progress)
        if options.picture:
            asr_sweep.draw(found, options.picture)
    else:
        n, found = measure_clips(clips, truth.words, config, options.quick, progress)
    return make_result(
        benchmark.name,
        before=before,
        n=n,
        metrics=found,
        settings={
            "quick": options.quick,
            "clips": [clip.name for clip in clips],
            "config": Path(options.config).name,
            "set": [*ONE_THREAD, *options.overrides],
        },
        packages=("faster-whisper",),
    )


class Truth:
    """When each word of each clip ends, by a larger model that hears the whole clip."""

    def __init__(self, clips: Sequence[Spoken]) -> None:
        whisper = Whisper(resolve(TRUTH), threads=2, languages=("en",))
        self.words = {clip.name: timed_words(whisper, clip) for clip in clips}


def measure_clips(
    clips: Sequence[Spoken],
    words: dict[str, list[Word]],
    config: Config,
    quick: bool,
    progress: Progress,
) -> tuple[int, dict[str, Figure]]:
    """The usual run: how many lags, and all metrics."""
    progress("the decode of whole clips")
    found = compare(
        clips,
        resolve(config.asr.model),
        config.asr.compute_type,
        config.asr.threads,
        QUICK_REPEATS if quick else REPEATS,
    )
    alone = speak(clips, words, config, QUICK_ROUNDS if quick else ROUNDS, progress)
    found |= figures(alone)
    found |= three(clips, words, config, alone, QUICK_TRIOS if quick else TRIOS, progress)
    return sum(len(heed.lags) for heed in alone), found


def speak(
    clips: Sequence[Spoken],
    words: dict[str, list[Word]],
    config: Config,
    rounds: int,
    progress: Progress,
) -> list[Heed]:
    """One speaker at a time, at real-time pace."""
    heeds = []
    with Live(config, Clock(live=True)) as live:
        reader = Reader.of(live.asr.bridge, config)
        for number in range(rounds):
            for clip in clips:
                progress(f"{clip.name}, round {number + 1} of {rounds}")
                (hearing,) = live.hear(clip)
                heeds.append(reader.heed(clip, words[clip.name], hearing))
    return heeds


def three(
    clips: Sequence[Spoken],
    words: dict[str, list[Word]],
    config: Config,
    alone: Sequence[Heed],
    trios: int,
    progress: Progress,
) -> dict[str, Figure]:
    """Three speakers at once on one recogniser, the longest clips first."""
    ranked = sorted(clips, key=lambda clip: -clip.seconds)
    heeds = []
    with Live(config, Clock(live=True), lanes=3) as live:
        reader = Reader.of(live.asr.bridge, config)
        for first in range(0, min(3 * trios, len(ranked)), 3):
            group = ranked[first : first + 3]
            progress(f"at once: {', '.join(clip.name for clip in group)}")
            for clip, hearing in zip(group, live.hear(*group), strict=True):
                heeds.append(reader.heed(clip, words[clip.name], hearing))
    single = {heed.name: heed.wrong for heed in alone}
    lag = figures(heeds)
    return {
        "three_words_more_wrong": sum(heed.wrong - single[heed.name] for heed in heeds),
        "three_commit_lag_p50_ms": lag["commit_lag_p50_ms"],
        "three_commit_lag_p90_ms": lag["commit_lag_p90_ms"],
    }


if __name__ == "__main__":
    sys.exit(main())
