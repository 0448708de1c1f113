"""How far off are replies whose later ids are computed with weights of eight bits?

The precision switch of the GPU's engine (`llm.cuda.full_steps`) with the default model's real
weights, computed on the CPU: the eight-bit weights are widened again, so the numbers are those that
a GPU would take. Id by id of the exact reply: the Kullback-Leibler divergence of the chances, how
often the best id is the same, and how many ids go by before an own reply parts from the exact one.
"""

import argparse
import copy
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from benchmarks import exact, metrics
from benchmarks.command import FAILED, INTERRUPTED, MISTAKE, Progress, make_parser, positive, show
from benchmarks.llm_contestant import CONTEXT, MODEL
from benchmarks.prompts import PROMPTS
from benchmarks.result import Figure, Result, load_now, make_result
from pipeline.errors import OutputError, VoxringError
from pipeline.models import prepare_llm
from stages.llm.compute import EagerCompute
from stages.llm.cuda.narrow import narrow
from stages.llm.cuda.weights import Layer
from stages.llm.forward import Forward
from stages.llm.sampling import Sampling
from stages.llm.transformers_engine import ROWS, TransformersEngine, load_engine

FULL_STEPS = (0, 1, 8)  # ids in full first; 0 here: none, not even the prompt's scores are off
QUICK = 6


class NarrowCompute(EagerCompute):
    """A CPU's compute whose cheap step has other weights."""

    def __init__(self, full: Forward, cheap: Forward, full_steps: int) -> None:
        super().__init__(full, CONTEXT, ROWS, Sampling())
        self.full_steps = full_steps
        self._kinds = {False: full, True: cheap}

    def decode(
        self,
        lanes: Sequence[int],
        ids: Sequence[int | None],
        positions: Sequence[int],
        *,
        cheap: bool,
    ) -> None:
        """See `Compute.decode`."""
        self._forward = self._kinds[cheap]
        super().decode(lanes, ids, positions, cheap=cheap)
        self._forward = self._kinds[False]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.LLM_NARROW, __doc__, "--json llm_narrow.json")
    parser.add_argument("--prompts", type=positive, default=len(PROMPTS), metavar="N")
    options = parser.parse_args(arguments)
    progress = Progress(metrics.LLM_NARROW.name)
    try:
        result = measure(options, progress)
        progress.end()
        show(metrics.LLM_NARROW, result, options.json)
    except OutputError as error:
        parser.exit(MISTAKE, f"error: {error}\n")
    except VoxringError as error:
        parser.exit(FAILED, f"error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted\n")
    return 0


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        VoxringError: the model cannot be had.
    """
    before = load_now()
    count = min(QUICK if options.quick else len(PROMPTS), options.prompts)
    replies = exact.references(PROMPTS[:count], progress)
    full = Forward(load_engine(prepare_llm(MODEL), context=CONTEXT, threads=2, mapped=True).model)
    cheap = Forward(widened(full.model))
    found: dict[str, Figure] = {}
    for full_steps in FULL_STEPS:
        compute = NarrowCompute(full, cheap, max(1, full_steps))
        if not full_steps:
            compute = NarrowCompute(cheap, cheap, 1)
        engine = TransformersEngine(full.model, CONTEXT, compute=compute)
        engine.open(0)
        compared, divergence = exact.Compared(), exact.Divergence()
        for number, reply in enumerate(replies):
            progress(f"{full_steps} in full: prompt {number + 1} of {count}")
            compared.add(reply, exact.generate(engine, reply))
            follow(engine, reply, divergence)
        name = f"after-{full_steps}" if full_steps else "all"
        found[f"same_share.{name}"] = compared.same / count
        found[f"ids_before.{name}"] = float(np.mean(compared.ids_before))
        found[f"kl_mean_nats.{name}"] = float(np.mean(divergence.kl))
        found[f"kl_p99_nats.{name}"] = float(np.percentile(divergence.kl, 99))
        found[f"best_share.{name}"] = float(np.mean(divergence.same_best))
    return make_result(
        metrics.LLM_NARROW.name,
        before=before,
        n=count,
        metrics=found,
        settings={"quick": options.quick, "ids": exact.COUNT, "model": MODEL},
    )


def widened(model: Any) -> Any:
    """The same model with each matrix of its layers rounded to eight bits."""
    other = copy.deepcopy(model)
    with torch.no_grad():
        for layer in other.model.layers:
            full = Layer.of(layer, other.config)
            few = narrow(full)
            for name in ("q", "k", "v", "o", "gate", "up", "down"):
                weight = getattr(few, name)
                values = weight.values.float() * weight.scale[:, None]
                getattr(full, name).values.copy_(values)
    return other


def follow(engine: Any, reply: exact.Reply, divergence: exact.Divergence) -> None:
    """Score every id of the exact reply, each as if the engine had chosen it."""
    engine.rollback(0, 0)
    engine.extend(0, np.array(reply.prompt, np.int32), 0)
    for number, id in enumerate(reply.ids):
        divergence.add(reply.logits[number], engine.compute.scores(0).numpy())
        engine.append(0, id)


if __name__ == "__main__":
    sys.exit(main())
