"""How soon after the end of speech the language model gives its first and fifth id, on a CPU.

SmolLM2-135M, 400 ids of history, an utterance of 12. Each way to answer is a program of its own
with the model loaded; they take turns, so that what else the machine does is shared by all. "stock"
is transformers' `generate` with the whole prompt at the end of speech, "cached" the same with the
keys and values of the history kept by hand. A name that ends in "-1t" has one thread, others two.

With --ablate: the default way, and the same without one of its techniques at a time.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import metrics
from benchmarks.command import Progress, make_parser, run
from benchmarks.llm_contestant import HISTORY, UTTERANCE, Contestant, Trial
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median
from pipeline.errors import StageError
from pipeline.supervisor import environment

ROOT = Path(__file__).parents[1]
FULL, QUICK = 25, 6
CONTESTANTS = (
    Contestant("stock", "stock"),
    Contestant("stock-1t", "stock", threads=1),
    Contestant("cached", "cached"),
    Contestant("transformers", "transformers"),
    Contestant("onnx-fp32", "onnx"),
    Contestant("onnx-fp32-1t", "onnx", threads=1),
    Contestant("onnx-int8", "onnx", "int8"),
    Contestant("onnx-int4", "onnx", "int4"),
)
ABLATION = (
    Contestant("all", "onnx"),
    Contestant("no-kept-cache", "onnx", keeps=False, streams=False),
    Contestant("no-streamed-prefill", "onnx", streams=False),
    Contestant("transformers-engine", "transformers"),
    Contestant("genai-generator", "genai"),
    Contestant("one-thread", "onnx", threads=1),
    Contestant("spinning", "onnx", spin=True),
    Contestant("int8", "onnx", "int8"),
    Contestant("int4", "onnx", "int4"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.LLM, __doc__, "--quick --json llm.json")
    parser.add_argument("--ablate", action="store_true", help="what each technique buys")
    run(metrics.LLM, parser, arguments, measure)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        StageError: a way to answer failed.
    """
    before = load_now()
    contestants = ABLATION if options.ablate else CONTESTANTS
    rounds = QUICK if options.quick else FULL
    trials: dict[str, list[Trial]] = {contestant.name: [] for contestant in contestants}
    with ExitStack() as stack:
        running = {}
        for contestant in contestants:
            progress(f"loading {contestant.name}")
            running[contestant.name] = stack.enter_context(started(contestant))
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}")
            for name, program in running.items():
                trials[name].append(one_trial(name, program))
    return make_result(
        metrics.LLM.name,
        before=before,
        n=rounds,
        metrics=figures(trials),
        settings={
            "quick": options.quick,
            "ablate": options.ablate,
            "history": HISTORY,
            "utterance": UTTERANCE,
        },
        packages=("onnxruntime-genai",),
    )


@contextmanager
def started(contestant: Contestant) -> Iterator[subprocess.Popen[str]]:
    """The program of one way to answer, ready.

    All have the environment that stages are given. Stock would not have it by itself: without, its
    threads spin, and on a busy machine it takes several times as long.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.llm_contestant", contestant.json],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment(contestant.threads)},
    ) as program:
        try:
            answered(contestant.name, program)
            yield program
        finally:
            program.kill()


def one_trial(name: str, program: subprocess.Popen[str]) -> Trial:
    """Let it answer once."""
    assert program.stdin
    program.stdin.write("\n")
    program.stdin.flush()
    return Trial(**json.loads(answered(name, program)))


def answered(name: str, program: subprocess.Popen[str]) -> str:
    """The next line that it prints.

    Raises:
        StageError: it has ended instead.
    """
    assert program.stdout
    assert program.stderr
    line = program.stdout.readline()
    if not line:
        last = program.stderr.read().strip().splitlines()[-1:]
        raise StageError(f"the contestant {name} failed: {' '.join(last) or 'no reason given'}")
    return line


def figures(trials: dict[str, list[Trial]]) -> dict[str, Figure]:
    """Medians, and how they compare."""
    first = {name: median(t.first_ms for t in runs) for name, runs in trials.items()}
    fifth = {name: median(t.fifth_ms for t in runs) for name, runs in trials.items()}
    base = next(iter(trials))  # of which the others are shares
    found: dict[str, Figure] = {}
    for name, runs in trials.items():
        stock = f"{base}-1t" if f"{base}-1t" in trials and name.endswith("-1t") else base
        found[f"first_ms.{name}"] = first[name]
        found[f"fifth_ms.{name}"] = fifth[name]
        found[f"cpu_ms.{name}"] = median(t.cpu_ms for t in runs)
        found[f"same_ids.{name}"] = int(all(t.ids == trials[base][0].ids for t in runs))
        if name != stock:
            found[f"first_ratio.{name}"] = share(first[name], first[stock])
            found[f"fifth_ratio.{name}"] = share(fifth[name], fifth[stock])
    if "cached" in trials:
        found["cached_ratio_first"] = share(first["onnx-fp32"], first["cached"])
        found["cached_ratio_fifth"] = share(fifth["onnx-fp32"], fifth["cached"])
    return found


def share(value: Figure, whole: Figure) -> Figure:
    """One figure as a part of another."""
    return value / whole if value is not None and whole else None


if __name__ == "__main__":
    sys.exit(main())
