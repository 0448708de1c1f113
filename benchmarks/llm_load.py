"""How long the language model's program takes to be ready, and what it holds, by engine.

Each start is a program of its own, as the stage would be: imports, loading, warming up, one turn.
"cold" means that the model's files were dropped from the page cache before. With --build, each
model is also built anew, in a cache of its own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import metrics, usage
from benchmarks.command import Progress, make_parser, run
from benchmarks.llm_contestant import MODEL
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median
from pipeline.config import Config, LlmConfig, load_config
from pipeline.errors import StageError
from pipeline.models import Quantization, prepare_llm, prepare_onnx, resolve
from pipeline.supervisor import environment

ROOT = Path(__file__).parents[1]
FULL, QUICK = 5, 2
WAYS: dict[str, tuple[str, Quantization]] = {
    "onnx-fp32": ("onnx", "none"),
    "onnx-int8": ("onnx", "int8"),
    "onnx-int4": ("onnx", "int4"),
    "transformers": ("transformers", "none"),
}
PROGRAM = """
import json, sys, time
from pipeline.config import Config, validate
from stages.llm.profiling import turn
from stages.run import find_stage
from stages.stage import Host
config = validate(Config, json.load(sys.stdin), "the configuration")
stage = find_stage("llm", config.llm.stage)(Host(config, config.llm, time.monotonic_ns, print))
sys.stdout = sys.stderr
stage.load()
sys.__stdout__.write("ready\\n"); sys.__stdout__.flush()
turn(stage.engine)
sys.__stdout__.write("done\\n"); sys.__stdout__.flush()
time.sleep(60)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.LLM_LOAD, __doc__, "--json llm_load.json")
    parser.add_argument("--build", action="store_true", help="build each model anew, too")
    run(metrics.LLM_LOAD, parser, arguments, measure)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        VoxringError: a model cannot be had or loaded.
    """
    before = load_now()
    rounds = QUICK if options.quick else FULL
    found: dict[str, Figure] = {}
    for name, (stage, quantization) in WAYS.items():
        folder = prepare_onnx(MODEL, quantization) if stage == "onnx" else prepare_llm(MODEL)
        llm = LlmConfig(stage=stage, quantization=quantization)
        config = load_config().model_copy(update={"llm": llm.model_copy(update={"threads": 1})})
        warm, cold, memory, own = [], [], [], []
        for number in range(rounds):
            progress(f"{name}: start {number + 1} of {rounds}")
            drop(folder)
            cold.append(start(config)[0])
            seconds, whole, private = start(config)
            warm.append(seconds)
            memory.append(whole)
            own.append(private)
        found |= {
            f"cold_ready_s.{name}": median(cold),
            f"warm_ready_s.{name}": median(warm),
            f"memory_mib.{name}": median(memory),
            f"own_mib.{name}": median(own),
            f"disk_mib.{name}": size_mib(folder),
        }
        if options.build and stage == "onnx":
            progress(f"{name}: building")
            found[f"build_s.{name}"] = build(quantization)
    return make_result(
        metrics.LLM_LOAD.name,
        before=before,
        n=rounds,
        metrics=found,
        settings={"quick": options.quick, "build": options.build},
        packages=("onnxruntime-genai",),
    )


def drop(folder: Path) -> None:
    """Take the files of a folder out of the page cache."""
    os.sync()
    for path in folder.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def start(config: Config) -> tuple[float, float, float]:
    """Seconds until it is ready; MiB after a turn, all of it and what no file backs.

    Raises:
        StageError: it is not.
    """
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment(config.llm.threads)},
    ) as program:
        assert program.stdin
        assert program.stdout
        assert program.stderr
        try:
            program.stdin.write(config.model_dump_json())
            program.stdin.close()
            while (line := program.stdout.readline()) not in ("ready\n", ""):
                pass
            seconds = time.perf_counter() - began
            if not line or program.stdout.readline() != "done\n":
                last = program.stderr.read().strip().splitlines()[-1:]
                raise StageError(f"it did not start: {' '.join(last) or 'no reason given'}")
            whole = usage.memory_mib(program.pid, usage.WHOLE)
            return seconds, whole, usage.memory_mib(program.pid, usage.OWN)
        finally:
            program.kill()


def build(quantization: Quantization) -> float:
    """Seconds to build a model from a folder that transformers reads, in a cache of its own."""
    folder = resolve(str(prepare_llm(MODEL)))
    code = (
        "import sys, time; from pipeline.models import prepare_onnx; t = time.perf_counter(); "
        "prepare_onnx(sys.argv[1], sys.argv[2]); print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder), quantization],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "VOXRING_CACHE": cache},
        )
    return float(done.stdout)


def size_mib(folder: Path) -> float:
    """All files of a folder."""
    return sum(path.stat().st_size for path in folder.iterdir()) / (1 << 20)


if __name__ == "__main__":
    sys.exit(main())
