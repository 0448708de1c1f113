"""Can the end-of-turn model tell an end from a pause, when, and what does it cost?

Recorded clips in twelve variants of level, noise and speed. The model is asked some time after the
voice has stopped: at the annotated end of each clip, in each pause of at least 200 ms inside it (if
it lasts that long), and where the clip was cut in mid-sentence.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks import metrics
from benchmarks.asr_clips import RECORDINGS, read_clips, timed_words
from benchmarks.command import Progress, make_parser, run
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median, percentile
from benchmarks.turn_moments import (
    QUICK_VARIANTS,
    VARIANTS,
    Kind,
    Moment,
    Variant,
    find_moments,
)
from benchmarks.usage import OWN, memory_mib
from pipeline.models import check_name, resolve, silero_vad_path, smart_turn_path
from stages.asr.whisper import Whisper
from stages.mel import mel_filters
from stages.turn.smart_turn import REACH, SmartTurn, features
from stages.turn.vad import SileroVad

WORDS = "bundle:whisper-base"  # whose word timestamps say where a clip may be cut
SILENCES_MS = (50, 100, 150, 200, 300, 500)
QUICK_SILENCES_MS = (100, 200, 300)
THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
PERCENTS = (10, 50, 90)
ASKED_MS, THRESHOLD = 100, 0.9
"""The silence and the threshold that stand for all: what `docs/end-of-turn.md` advises."""
ROUNDS = 40
COSTS = ("features_ms", "call_p50_ms", "call_p95_ms", "load_ms", "memory_mib")
_SHARES = {
    Kind.END: "ends_recognised",
    Kind.PAUSE: "pauses_called_ends",
    Kind.CUT: "cuts_called_ends",
}


@dataclass(frozen=True)
class Answer:
    """What the model said."""

    kind: Kind
    variant: str
    silence_ms: int
    probability: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.END_OF_TURN, __doc__, "--quick --json end_of_turn.json")
    parser.add_argument("--recordings", type=Path, default=RECORDINGS, help="folder of clips")
    parser.add_argument(
        "--model", default="bundle:smart-turn-v3.2", help="a bundle, a hub id or a path"
    )
    run(metrics.END_OF_TURN, parser, arguments, measure)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The run that was asked for.

    Raises:
        VoxringError: a clip or a model cannot be read.
    """
    before = load_now()
    check_name(options.model)
    progress("time and memory of the model")
    model, costs = load(smart_turn_path(options.model))
    progress("where clips pause and may be cut")
    moments = read_moments(options.recordings)
    silences = QUICK_SILENCES_MS if options.quick else SILENCES_MS
    variants = QUICK_VARIANTS if options.quick else VARIANTS
    answers: list[Answer] = []
    for variant in variants:
        progress(variant.name)
        answers += ask(model, moments, variant, silences)
    found = figures(answers)
    return make_result(
        metrics.END_OF_TURN.name,
        before=before,
        n=len(answers),
        metrics=found | costs,
        settings={
            "quick": options.quick,
            "clips": sorted({moment.clip for moment in moments}),
            "variants": [variant.name for variant in variants],
            "model": options.model,
        },
        packages=("faster-whisper",),
    )


def read_moments(folder: Path) -> list[Moment]:
    """All moments of the clips of a folder.

    Raises:
        VoxringError: a clip or a model cannot be read.
    """
    clips = read_clips(folder)
    whisper = Whisper(resolve(WORDS), threads=1, languages=("en",))
    words = {clip.name: timed_words(whisper, clip) for clip in clips}
    return find_moments(folder, clips, words, SileroVad(silero_vad_path()))


def load(path: Path) -> tuple[SmartTurn, dict[str, Figure]]:
    """The model on one thread, and what it costs."""
    memory, start = memory_mib(os.getpid(), OWN), time.perf_counter()
    model = SmartTurn(path)
    loaded = time.perf_counter()
    sound, filters = np.zeros(REACH, np.int16), mel_filters(80)  # what is said changes no time
    model.probability(sound)
    grown = memory_mib(os.getpid(), OWN) - memory
    shown, asked = [], []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        features(sound, filters)
        between = time.perf_counter()
        model.probability(sound)
        shown.append(1000 * (between - begun))
        asked.append(1000 * (time.perf_counter() - between))
    return model, {
        "features_ms": median(shown),
        "call_p50_ms": median(asked),
        "call_p95_ms": percentile(asked, 95),
        "load_ms": 1000 * (loaded - start),
        "memory_mib": grown,
    }


def ask(
    model: SmartTurn, moments: Iterable[Moment], variant: Variant, silences_ms: Iterable[int]
) -> Iterator[Answer]:
    """Ask at each moment that lasts that long, as a variant has it."""
    for moment, silence_ms in product(map(variant.of, moments), silences_ms):
        if silence_ms <= moment.silence_ms:
            probability = model.probability(moment.after(silence_ms))
            yield Answer(moment.kind, variant.name, silence_ms, probability)


def figures(answers: Sequence[Answer]) -> dict[str, Figure]:
    """How many moments there were, how probabilities are spread, and who was called an end."""
    found: dict[str, Figure] = {}
    for kind, share in _SHARES.items():
        mine = _chosen(answers, kind, ASKED_MS)
        found |= {
            f"{kind}s": len(mine),
            f"{kind}_probability": median(answer.probability for answer in mine),
            share: _share(mine, THRESHOLD),
        }
        for silence_ms in sorted({answer.silence_ms for answer in answers}):
            these = _chosen(answers, kind, silence_ms)
            part = f"{silence_ms}ms"
            found[f"{kind}s.{part}"] = len(these)
            for percent in PERCENTS:
                name = f"{kind}_probability.{part}-p{percent}"
                found[name] = percentile((answer.probability for answer in these), percent)
            for threshold in THRESHOLDS:
                found[f"{share}.{part}-{threshold:g}"] = _share(these, threshold)
        for variant in dict.fromkeys(answer.variant for answer in mine):
            of_it = [answer for answer in mine if answer.variant == variant]
            found[f"{share}.{variant}"] = _share(of_it, THRESHOLD)
    return found


def _chosen(answers: Iterable[Answer], kind: Kind, silence_ms: int) -> list[Answer]:
    return [a for a in answers if (a.kind, a.silence_ms) == (kind, silence_ms)]


def _share(answers: Sequence[Answer], threshold: float) -> float | None:
    """Of answers that call it an end."""
    if not answers:
        return None
    return sum(answer.probability >= threshold for answer in answers) / len(answers)


def table(result: Result) -> str:
    """Who is called an end, by silence and threshold, as Markdown."""
    value = result.metrics
    lines = [
        "| silence ms | threshold | ends recognised % (n) | pauses called ends % (n) "
        "| cuts called ends % (n) |",
        "|---|---|---|---|---|",
    ]
    silences = [name.partition(".")[2] for name in value if name.startswith("ends.")]
    for part, threshold in product(silences, THRESHOLDS):
        cells = [
            f"{100 * share:.0f} ({value[f'{kind}s.{part}']})"
            if (share := value[f"{name}.{part}-{threshold:g}"]) is not None
            else "-"
            for kind, name in _SHARES.items()
        ]
        lines.append(f"| {part.removesuffix('ms')} | {threshold:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
