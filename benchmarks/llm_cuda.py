"""The language model's engine on an NVIDIA GPU against transformers' own `generate`.

Random weights in the shapes of Llama 3: neither speed nor exactness needs others. Everything is
measured in one run: exactness, the first and the next id, what each technique buys, how an id
reaches the GPU, many lanes at once, 8-bit steps, and how long a start takes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import llm_exact, llm_lanes, metrics
from benchmarks.command import MISTAKE, Progress, make_parser, run
from benchmarks.random_models import SHAPES, random_model
from benchmarks.result import Figure, Result, load_now, make_result
from benchmarks.sample import median, percentile
from pipeline.config import CudaConfig
from stages.llm.attention import register
from stages.llm.cuda.profiling import read_bytes
from stages.llm.transformers_engine import TransformersEngine, make_engine

HISTORIES = (400, 2000, 8000)
ARRIVALS = (1, 8)  # ids that come last
CONTEXT = 9000
LANES = (1, 4, 8, 16, 32, 64)
LIMIT_MS = 60  # first id, 95th percentile
KV_ROOM = 1024  # ids of each lane where many are tried
SWITCHED_OFF = {
    "all": CudaConfig(),
    "no_graphs": CudaConfig(graphs=False),
    "no_kernels": CudaConfig(kernels=False),
    "no_run_ahead": CudaConfig(run_ahead=False),
    "pinned": CudaConfig(ids_in="pinned"),
    "pageable": CudaConfig(ids_in="pageable"),
    "full_steps_4": CudaConfig(full_steps=4),
}


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        repeats: of each first id.
        stock: of each first id by transformers' generate.
        lives: for promise B.
        seconds: of each lane count.
        trips: of one id.
    """

    repeats: int
    stock: int
    lives: int
    seconds: float
    trips: int


FULL = Plan(repeats=30, stock=7, lives=12, seconds=10, trips=2000)
QUICK = Plan(repeats=10, stock=3, lives=4, seconds=4, trips=300)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.LLM_CUDA, __doc__, "--json llm_cuda.json --picture llm_cuda.png")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw it (needs matplotlib)")
    parser.add_argument("--start", choices=SHAPES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        parser.exit(MISTAKE, "error: PyTorch sees no NVIDIA GPU here\n")
    if options.start:
        sys.stdout.write(json.dumps(start(options.start)) + "\n")
        return 0
    result = run(metrics.LLM_CUDA, parser, arguments, measure)
    if options.picture:
        from benchmarks.llm_picture import draw

        draw(result, options.picture)
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark."""
    plan = QUICK if options.quick else FULL
    before, began = load_now(), time.monotonic()
    copy = copy_bandwidth()
    found: dict[str, Figure] = {"copy_tb_per_s": copy / 1e12}
    from benchmarks import llm_ids  # needs triton, which only comes with CUDA

    progress("one id to the GPU and back")
    trips = llm_ids.round_trips(plan.trips)
    found |= {f"round_trip_us.{way}": value for way, value in trips.items()}
    progress("a start, with compilation and without")
    found |= starts()
    progress("exactness")
    found |= exactness(plan)
    for shape in SHAPES:
        progress(f"{shape}: first and next id")
        model = random_model(shape, "cuda", torch.bfloat16)
        found |= speed(shape, model, copy, plan)
        if shape == "1b":
            progress("1b: what each technique buys")
            found |= ablation(model, plan)
            progress("1b: many lanes")
            found |= lanes(model, plan, progress)
        if shape == "8b":
            found |= narrow_speed(model)
        del model
        torch.cuda.empty_cache()
    progress("strict mode")
    found |= strictness(plan)  # last, because what it pins stays pinned in this program
    found["duration_s"] = time.monotonic() - began
    gpu = torch.cuda.get_device_properties(0)
    return make_result(
        metrics.LLM_CUDA.name,
        before=before,
        n=plan.repeats,
        metrics=found,
        settings={
            "quick": options.quick,
            "gpu": gpu.name,
            "dtype": "bfloat16",
            "weights": "random",
        },
        packages=("triton",),
    )


def copy_bandwidth() -> float:
    """Bytes read and written by a large copy on the device, per second."""
    one = torch.randint(0, 255, (2**31,), dtype=torch.uint8, device="cuda")
    other = torch.empty_like(one)
    times = [timed(lambda: other.copy_(one)) for _ in range(12)]
    return 2 * one.numel() / (median(times[2:]) or 1) * 1e3


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of some work on the default stream."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    begin.record()
    work()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end))


def words(count: int, seed: int = 0) -> NDArray[np.int32]:
    return np.random.default_rng(seed).integers(0, 40_000, count).astype(np.int32)


def starts() -> dict[str, Figure]:
    """Seconds from a loaded 1b model until its engine is ready: nothing compiled, then all."""
    found: dict[str, Figure] = {}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            started = subprocess.run(
                [sys.executable, "-m", "benchmarks.llm_cuda", "--start", "1b"],
                env={**os.environ, "TRITON_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            seconds = json.loads(started.stdout)
            found |= {f"ready_{name}_s": seconds["total"]}
            found |= {f"ready_{name}_s.{part}": value for part, value in seconds.items()}
    return found


def start(shape: str) -> dict[str, float]:
    """What a start of this program took, in seconds."""
    begin = time.monotonic()
    model = random_model(shape, "cuda", torch.bfloat16)
    torch.cuda.synchronize()
    loaded = time.monotonic()
    make_engine(model, 4096)
    ready = time.monotonic()
    return {"engine": ready - loaded, "model": loaded - begin, "total": ready - begin}


def exactness(plan: Plan) -> dict[str, Figure]:
    """Promises A, B and D, and what bf16 makes of C."""
    found: dict[str, Figure] = {}
    model = random_model("135m", "cuda", torch.bfloat16, num_hidden_layers=8)
    for kind, switches in (("chain", CudaConfig()), ("plain", CudaConfig(kernels=False))):
        graphs = make_engine(model, 1500, lanes=2, switches=switches)
        eager = make_engine(model, 1500, switches=switches.model_copy(update={"graphs": False}))
        unequal = llm_exact.count_unequal_steps(graphs, eager, words(500), 256)
        traces = llm_exact.count_traces(graphs, plan.lives, 1400)
        found |= {f"unequal_steps.{kind}": unequal, f"traces.{kind}": traces}
    found["unequal_steps"] = sum(int(found[f"unequal_steps.{k}"] or 0) for k in ("chain", "plain"))
    found["traces"] = sum(int(found[f"traces.{k}"] or 0) for k in ("chain", "plain"))
    return found | errors(model) | agreement(model)


def strictness(plan: Plan) -> dict[str, Figure]:
    """Strict mode: what it costs, and steps that differ when another lane speaks in between."""
    model = random_model("1b", "cuda", torch.bfloat16)
    found = ablation(model, plan, {"strict": CudaConfig(strict=True)})
    switches = CudaConfig(strict=True, kernels=False)
    alone, beside = (make_engine(model, 1500, lanes=2, switches=switches) for _ in range(2))
    beside.open(7)
    beside.extend(7, words(40, 9), 0)
    unequal = llm_exact.count_unequal_steps(alone, beside, words(500), 128, busy=7)
    return found | {"unequal_strict_steps": unequal}


@torch.inference_mode()
def errors(model: Any) -> dict[str, Figure]:
    """Promise D: how far bf16 scores are from float32's, ours and transformers'."""
    reference = random_model("135m", "cuda", torch.float32, num_hidden_layers=8)
    full = {name: value.float() for name, value in model.state_dict().items()}
    reference.load_state_dict(full)
    plain = make_engine(model, 1500, switches=CudaConfig(kernels=False))
    for each in (model, reference):
        each.set_attn_implementation("sdpa")
    engine = make_engine(model, 1500)
    found: dict[str, list[float]] = {"error_stock": [], "error_ours": [], "error_ours.plain": []}
    for seed in range(8):
        ids = words(700, seed)
        tensor = torch.from_numpy(ids).long().cuda()[None]
        exact = reference(input_ids=tensor).logits[0, -1]
        scores = (
            model(input_ids=tensor).logits[0, -1],
            llm_exact.last_scores(engine, ids, 9),
            llm_exact.last_scores(plain, ids, 9),
        )
        for sample, score in zip(found.values(), scores, strict=True):
            sample.append(llm_exact.error(score, exact))
    model.set_attn_implementation(register())
    means: dict[str, Figure] = {name: float(np.mean(sample)) for name, sample in found.items()}
    stock = float(np.mean(found["error_stock"]))
    return means | {
        "error_ratio": float(np.mean(found["error_ours"])) / stock,
        "error_ratio.plain": float(np.mean(found["error_ours.plain"])) / stock,
    }


@torch.inference_mode()
def agreement(model: Any, prompts: int = 20, count: int = 32) -> dict[str, Figure]:
    """C in bf16: greedy ids of `generate` that ours are too, and the gap where they part."""
    engine = make_engine(model, 1500)
    same, firsts, gaps = 0, [], []
    for seed in range(prompts):
        ids = words(300, 100 + seed)
        tensor = torch.from_numpy(ids).long().cuda()[None]
        out = generate(model, tensor, count, output_scores=True, return_dict_in_generate=True)
        stock = out.sequences[0, 300:].tolist()
        engine.open(0)
        engine.extend(0, ids, 0)
        ours = [engine.step([0])[0] for _ in range(count)]
        engine.close(0)
        parted = next((n for n in range(count) if ours[n] != stock[n]), count)
        same += parted == count
        if parted < count:
            firsts.append(parted)
            best = out.scores[parted][0].float().topk(2).values
            gaps.append(float(best[0] - best[1]))
    return {
        "greedy_agreement": same / prompts,
        "first_divergence_p50": median(firsts),
        "gap_at_divergence_max": max(gaps, default=None),
    }


def generate(model: Any, prompt: torch.Tensor, count: int, **options: Any) -> Any:
    return model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=count,
        min_new_tokens=count,
        do_sample=False,
        **options,
    )


def speed(shape: str, model: Any, copy: float, plan: Plan) -> dict[str, Figure]:
    """First and next id after each history, against generate with the whole prompt."""
    found: dict[str, Figure] = {}
    ids = words(CONTEXT)
    model.set_attn_implementation("sdpa")
    for history in HISTORIES:
        first, between = stock_times(model, ids[: history + 8], plan.stock)
        found[f"stock_first_ms.{shape}-{history}"] = first
        found[f"stock_next_ms.{shape}-{history}"] = between
    model.set_attn_implementation(register())
    engine = make_engine(model, CONTEXT)
    engine.open(0)
    allocations = 0
    for history in HISTORIES:
        top_up(engine, ids, history)
        stock = found[f"stock_first_ms.{shape}-{history}"] or 1
        for count in ARRIVALS:
            times, grew = first_ids(engine, ids, history, count, plan.repeats)
            allocations += grew
            name = f"{shape}-{history}-{count}"
            found[f"first_ms.{name}"] = median(times)
            found[f"first_p95_ms.{name}"] = percentile(times, 95)
            found[f"first_ratio.{name}"] = (median(times) or 0) / stock
        between = next_ids(engine, history)
        found[f"next_ms.{shape}-{history}"] = between
        share = read_bytes(model) / (between / 1e3) / copy
        found[f"decode_bandwidth_share.{shape}-{history}"] = share
    firsts = [found[f"first_ms.{shape}-{history}-8"] or 0 for history in HISTORIES]
    found[f"flat_ratio.{shape}"] = firsts[-1] / firsts[0]
    found[f"allocations.{shape}"] = allocations
    return found


def stock_times(model: Any, ids: NDArray[np.int32], repeats: int) -> tuple[float, float]:
    """Milliseconds of generate with a whole prompt: to the first id, and from id to id."""
    prompt = torch.from_numpy(ids).long().cuda()[None]
    firsts = [clock(lambda: generate(model, prompt, 1)) for _ in range(repeats + 3)]
    first = median(firsts[3:]) or 0.0
    nine = [clock(lambda: generate(model, prompt, 9)) for _ in range(2)]
    return first, (nine[1] - first) / 8


def clock(work: Callable[[], object]) -> float:
    """Milliseconds until the device is done."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3


def top_up(engine: TransformersEngine, ids: NDArray[np.int32], history: int) -> None:
    length = min(engine.length(0), history)
    engine.rollback(0, length)
    if length < history:
        engine.extend(0, ids[length:history], length)
    torch.cuda.synchronize()


def first_ids(
    engine: TransformersEngine, ids: NDArray[np.int32], history: int, count: int, repeats: int
) -> tuple[list[float], int]:
    """Milliseconds from the last ids' arrival to the first id's; allocations meanwhile."""
    times = []
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    for _ in range(repeats + 2):
        engine.rollback(0, history)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        engine.extend(0, ids[history : history + count], history)
        engine.step([0])
        times.append((time.perf_counter() - begin) * 1e3)
        torch.cuda.synchronize()
    return times[2:], torch.cuda.memory_stats()["allocation.all.allocated"] - before


def next_ids(engine: TransformersEngine, history: int, count: int = 64) -> float:
    """Milliseconds from id to id, in a row of `count`."""
    engine.rollback(0, history)
    engine.step([0])
    begin = time.perf_counter()
    for _ in range(count):
        engine.step([0])
    took = (time.perf_counter() - begin) * 1e3 / count
    torch.cuda.synchronize()
    return took


def ablation(
    model: Any, plan: Plan, changes: dict[str, CudaConfig] = SWITCHED_OFF
) -> dict[str, Figure]:
    """First id after 8 and next id, 400 ids of history, with one thing changed at a time."""
    found: dict[str, Figure] = {}
    for name, switches in changes.items():
        engine = make_engine(model, KV_ROOM, switches=switches)
        engine.open(0)
        ids = words(KV_ROOM)
        top_up(engine, ids, 400)
        times, _ = first_ids(engine, ids, 400, 8, plan.repeats)
        found[f"ablation_first_ms.{name}"] = median(times)
        found[f"ablation_next_ms.{name}"] = next_ids(engine, 400)
        del engine
        torch.cuda.empty_cache()
    return found


def lanes(model: Any, plan: Plan, progress: Progress) -> dict[str, Figure]:
    """Lanes that speak 6 ids a second and get answers of 40 ids, turns at random."""
    found: dict[str, Figure] = {}
    most = 0
    engine = make_engine(model, KV_ROOM, lanes=max(LANES))
    for count in LANES:
        progress(f"1b: {count} lanes")
        seen = llm_lanes.run(engine, count, plan.seconds * (2 if count < 16 else 1))
        slow = percentile(seen.first, 95)
        found[f"lanes_turns.{count}"] = len(seen.first)
        found[f"lanes_first_p50_ms.{count}"] = median(seen.first)
        found[f"lanes_first_p95_ms.{count}"] = slow
        found[f"lanes_next_p99_ms.{count}"] = percentile(seen.between, 99)
        if slow is not None and slow < LIMIT_MS:
            most = count
    alone = llm_lanes.run(engine, 64, plan.seconds, batched=False)
    found["lanes_first_p95_ms.64-one-by-one"] = percentile(alone.first, 95)
    found["lanes_next_p99_ms.64-one-by-one"] = percentile(alone.between, 99)
    found["lanes_within_60_ms"] = most
    return found


def narrow_speed(model: Any) -> dict[str, Figure]:
    """Next id with weights of eight bits."""
    engine = make_engine(model, KV_ROOM, switches=CudaConfig(full_steps=4))
    engine.open(0)
    top_up(engine, words(KV_ROOM), 400)
    return {"narrow_next_ms.8b": next_ids(engine, 400)}


if __name__ == "__main__":
    sys.exit(main())
