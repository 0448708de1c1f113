"""Does each engine say what transformers' `generate` says, and how far off are fewer bits?

Fifty prompts under the default system prompt and chat template, greedy, float32. A difference
counts as explained if transformers itself scores the two ids within 1e-4 of each other; all are
listed. For 8 and 4 bits: the Kullback-Leibler divergence of their chances from those of the exact
weights, id by id of the exact reply, how often their best id is the same, and how many ids go by
before they part.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import metrics
from benchmarks.command import FAILED, Progress, make_parser, positive, run
from benchmarks.llm_contestant import CONTEXT, MODEL
from benchmarks.prompts import PROMPTS
from benchmarks.result import Figure, Result, load_now, make_result
from pipeline.config import LlmConfig
from pipeline.models import Quantization, prepare_llm, prepare_onnx

CLOSE = 1e-4
COUNT = 24
QUICK = 8
ENGINES = ("onnx-fp32", "transformers")
FEWER_BITS: dict[str, Quantization] = {"onnx-int8": "int8", "onnx-int4": "int4"}


@dataclass(frozen=True)
class Reply:
    """What transformers says to a prompt.

    Attributes:
        prompt: its ids.
        ids: of the reply.
        logits: float32 [ids, vocabulary], the scores that each was chosen from.
    """

    prompt: list[int]
    ids: list[int]
    logits: NDArray[np.float32]


@dataclass
class Compared:
    """How the replies of one engine compare.

    Attributes:
        same: how many are the same.
        gaps: where others part: transformers' score of its own id less that of ours.
        ids_before: ids before they part, all of them if they do not.
    """

    same: int = 0
    gaps: list[float] = field(default_factory=list)
    ids_before: list[int] = field(default_factory=list)

    def add(self, reply: Reply, ours: list[int]) -> float | None:
        """Take one reply; the gap if it differs."""
        pairs = enumerate(zip(reply.ids, ours, strict=True))
        at = next((n for n, (a, b) in pairs if a != b), None)
        self.ids_before.append(len(ours) if at is None else at)
        if at is None:
            self.same += 1
            return None
        gap = float(reply.logits[at, reply.ids[at]] - reply.logits[at, ours[at]])
        self.gaps.append(gap)
        return gap


@dataclass
class Divergence:
    """How the chances of one engine compare, id by id."""

    kl: list[float] = field(default_factory=list)  # nats
    same_best: list[bool] = field(default_factory=list)

    def add(self, exact: NDArray[np.float32], ours: NDArray[np.float32]) -> None:
        """Take the scores of one position."""
        p, q = _log_chances(exact), _log_chances(ours)
        self.kl.append(float((np.exp(p) * (p - q)).sum()))
        self.same_best.append(bool(exact.argmax() == ours.argmax()))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = make_parser(metrics.EXACT, __doc__, "--json exact.json")
    parser.add_argument("--prompts", type=positive, default=len(PROMPTS), metavar="N")
    result = run(metrics.EXACT, parser, arguments, measure)
    return 0 if result.metrics["unexplained"] == 0 else FAILED


def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """The whole benchmark.

    Raises:
        VoxringError: a model cannot be had.
    """
    before = load_now()
    count = min(QUICK if options.quick else len(PROMPTS), options.prompts)
    replies = references(PROMPTS[:count], progress)
    found: dict[str, Figure] = {"unexplained": 0}
    differences = []
    for name in (*ENGINES, *FEWER_BITS):
        engine, compared = load(name), Compared()
        divergence = Divergence()
        for number, reply in enumerate(replies):
            progress(f"{name}: prompt {number + 1} of {count}")
            gap = compared.add(reply, generate(engine, reply))
            if name in ENGINES and gap is not None:
                found["unexplained"] = int(found["unexplained"] or 0) + int(gap > CLOSE)
                differences.append(f"{name}: {PROMPTS[number]} ({gap:.2g})")
            if name != "transformers":
                follow(engine, reply, divergence)
        found[f"same_share.{name}"] = compared.same / count
        found[f"ids_before.{name}"] = float(np.mean(compared.ids_before))
        if divergence.kl:
            found[f"kl_mean_nats.{name}"] = float(np.mean(divergence.kl))
            found[f"kl_p99_nats.{name}"] = float(np.percentile(divergence.kl, 99))
            found[f"best_share.{name}"] = float(np.mean(divergence.same_best))
    return make_result(
        metrics.EXACT.name,
        before=before,
        n=count,
        metrics=found,
        settings={"quick": options.quick, "ids": COUNT, "differences": differences},
        packages=("onnxruntime-genai",),
    )


def references(prompts: Sequence[str], progress: Progress) -> list[Reply]:
    """What transformers says, and why."""
    import torch
    import transformers

    from stages.llm.chat_tokenizer import ChatTokenizer
    from stages.llm.template import ChatTemplate

    folder = prepare_llm(MODEL)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    tokenizer = ChatTokenizer.load(folder)
    pieces = ChatTemplate(tokenizer, [], MODEL).pieces(LlmConfig().system)
    replies = []
    for number, text in enumerate(prompts):
        progress(f"generate: prompt {number + 1} of {len(prompts)}")
        words = tokenizer.encode(text, add_special_tokens=False)
        prompt = [*pieces.opening, *words, *pieces.ask]
        given = torch.tensor([prompt])
        out = model.generate(
            given,
            attention_mask=torch.ones_like(given),
            max_new_tokens=COUNT,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
            output_logits=True,
            return_dict_in_generate=True,
        )
        logits = torch.cat(out.logits).float().numpy()
        replies.append(Reply(prompt, out.sequences[0, len(prompt) :].tolist(), logits))
    return replies


def load(name: str) -> Any:
    """An engine, with a lane open."""
    if name == "transformers":
        from stages.llm import transformers_engine

        engine: Any = transformers_engine.load_engine(
            prepare_llm(MODEL), context=CONTEXT, threads=2
        )
    else:
        from stages.llm import onnx_engine

        folder = prepare_onnx(MODEL, FEWER_BITS.get(name, "none"))
        engine = onnx_engine.load_engine(folder, context=CONTEXT, threads=2)
    engine.open(0)
    return engine


def generate(engine: Any, reply: Reply) -> list[int]:
    """The engine's own reply to the prompt, which comes in pieces of unlike size."""
    engine.rollback(0, 0)
    start = 0
    for size in (1, 5, 2, 30, len(reply.prompt)):
        piece = np.array(reply.prompt[start : start + size], np.int32)
        if len(piece):
            engine.extend(0, piece, start)
        start += len(piece)
    return [engine.step([0])[0] for _ in reply.ids]


def follow(engine: Any, reply: Reply, divergence: Divergence) -> None:
    """Score every id of the exact reply."""
    engine.rollback(0, len(reply.prompt))
    for number, id in enumerate(reply.ids):
        divergence.add(reply.logits[number], engine.scores(0))
        engine.extend(0, np.array([id], np.int32), len(reply.prompt) + number)


def _log_chances(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted = scores.astype(np.float64) - scores.max()
    logs: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return logs


if __name__ == "__main__":
    sys.exit(main())
