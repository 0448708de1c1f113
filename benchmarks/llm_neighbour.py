"""How a recogniser on the same NVIDIA GPU delays the language model.

The 1b shape answers; beside it the encoder of Whisper large-v3 (random weights, 30 s windows) runs:
on another stream of the same program, or in a program of its own; four times a second, as one
speaker needs it, or without a pause.
"""

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from benchmarks import metrics
from benchmarks.command import MISTAKE, Progress, make_parser, run
from benchmarks.llm_cuda import top_up, words
from benchmarks.random_models import random_model
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median, percentile
from pipeline.errors import StageError
from ringbuf import die_with_parent
from stages.llm.transformers_engine import TransformersEngine, make_engine

ROOT = Path(__file__).parents[1]
HISTORY, ARRIVE, FOLLOW = 400, 8, 24  # ids before, that come last, and of a reply
PERIOD_S = 0.25  # between two decodes of somebody who speaks
PAUSE_S = 0.037  # between two answers: no multiple of the period
FULL, QUICK = 300, 40
NEIGHBOURS = {
    "alone": None,
    "stream-4-per-s": ("thread", PERIOD_S),
    "stream-always": ("thread", 0.0),
    "program-4-per-s": ("program", PERIOD_S),
    "program-always": ("program", 0.0),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.LLM_NEIGHBOUR, __doc__, "--quick --json llm_neighbour.json")
    parser.add_argument("--encode", type=float, metavar="S", help=argparse.SUPPRESS)
    known = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        parser.exit(MISTAKE, "error: PyTorch sees no NVIDIA GPU here\n")
    if known.encode is not None:
        encode_for_ever(known.encode)
    run(metrics.LLM_NEIGHBOUR, parser, arguments, measure)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        StageError: the neighbour's program failed.
    """
    before, repeats = load_now(), QUICK if options.quick else FULL
    progress("loading")
    engine = make_engine(random_model("1b", "cuda", torch.bfloat16), 1024)
    engine.open(0)
    found: dict[str, Figure] = {"encode_ms": encode_ms()}
    for name, neighbour in NEIGHBOURS.items():
        progress(name)
        with ExitStack() as stack:
            if neighbour:
                kind, period_s = neighbour
                make = thread if kind == "thread" else program
                stack.enter_context(make(period_s))
            firsts, betweens = answers(engine, repeats)
        found |= {
            f"first_p50_ms.{name}": median(firsts),
            f"first_p95_ms.{name}": percentile(firsts, 95),
            f"first_max_ms.{name}": max(firsts),
            f"next_p50_ms.{name}": median(betweens),
            f"next_p99_ms.{name}": percentile(betweens, 99),
        }
    return make_result(
        metrics.LLM_NEIGHBOUR.name,
        before=before,
        n=repeats,
        metrics=found,
        settings={"quick": options.quick, "gpu": torch.cuda.get_device_properties(0).name},
        packages=("triton",),
    )


def answers(engine: TransformersEngine, repeats: int) -> tuple[list[float], list[float]]:
    """Milliseconds to the first id of an answer, and between its ids."""
    ids, firsts, betweens = words(1024), [], []
    for _ in range(repeats + 2):
        time.sleep(PAUSE_S)
        top_up(engine, ids, HISTORY)
        begin = time.perf_counter()
        engine.extend(0, ids[HISTORY : HISTORY + ARRIVE], HISTORY)
        engine.step([0])
        last = time.perf_counter()
        firsts.append((last - begin) * 1e3)
        for _ in range(FOLLOW):
            engine.step([0])
            now = time.perf_counter()
            betweens.append((now - last) * 1e3)
            last = now
    return firsts[2:], betweens[2 * FOLLOW :]


def make_encoder() -> Callable[[], None]:
    """Whisper large-v3's encoder with random weights; a call waits until the GPU is done."""
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = transformers.WhisperConfig(
        d_model=1280,
        encoder_layers=32,
        encoder_attention_heads=20,
        encoder_ffn_dim=5120,
        num_mel_bins=128,
    )
    make: Any = WhisperEncoder
    with torch.device("cuda"):
        encoder = make(config).half().eval()
        sound = torch.randn(1, 128, 3000, dtype=torch.float16)
    stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    @torch.inference_mode()
    def encode() -> None:
        with torch.cuda.stream(stream):
            encoder(sound)
        stream.synchronize()

    encode()
    return encode


def encode_ms() -> float | None:
    """How long the neighbour takes if it is alone."""
    encode, times = make_encoder(), []
    for _ in range(10):
        begin = time.perf_counter()
        encode()
        times.append((time.perf_counter() - begin) * 1e3)
    return median(times)


@contextmanager
def thread(period_s: float) -> Iterator[None]:
    """The neighbour on a stream of this program, of lower priority than the engine's."""
    encode, over = make_encoder(), threading.Event()

    def work() -> None:
        while not over.wait(period_s):
            encode()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


@contextmanager
def program(period_s: float) -> Iterator[None]:
    """The neighbour as a program of its own.

    Raises:
        StageError: it has ended.
    """
    command = [sys.executable, "-m", "benchmarks.llm_neighbour", "--encode", str(period_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as other:
        try:
            assert other.stdout
            if not other.stdout.readline():
                raise StageError("the neighbour's program has ended")
            yield
            if other.poll() is not None:
                raise StageError("the neighbour's program has ended")
        finally:
            other.kill()


def encode_for_ever(period_s: float) -> None:
    """What the neighbour's program does, for as long as there is somebody to be a neighbour of."""
    die_with_parent()
    encode = make_encoder()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        time.sleep(period_s)
        encode()


if __name__ == "__main__":
    sys.exit(main())
