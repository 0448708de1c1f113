"""Whether a GPU keeps the exactness promises: graph = eager, any portions = one shot, error."""

import random
from itertools import groupby
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from stages.llm.transformers_engine import TransformersEngine

LIVED, ONE_SHOT = 0, 1


def count_unequal_steps(
    one: Any, other: Any, prompt: NDArray[np.int32], steps: int, busy: int | None = None
) -> int:
    """Promise A: steps after which two engines' ids or full scores differ in any bit.

    Args:
        busy: a lane of the other engine that speaks between its steps.
    """
    for engine in (one, other):
        engine.open(LIVED)
        engine.extend(LIVED, prompt, 0)
    unequal = 0
    for _ in range(steps):
        if busy is not None:
            other.step([busy])
        ids = [engine.step([LIVED]) for engine in (one, other)]
        scores = [_scores(engine) for engine in (one, other)]
        unequal += ids[0] != ids[1] or not torch.equal(*scores)
    for engine in (one, other):
        engine.close(LIVED)
    return unequal


def count_traces(engine: Any, lives: int, longest: int, seed: int = 1) -> int:
    """Promise B: lives of portions, rollbacks and answers in vain that left any bit behind."""
    dice = random.Random(seed)
    return sum(_leaves_trace(engine, dice, longest) for _ in range(lives))


def _leaves_trace(engine: Any, dice: random.Random, longest: int) -> bool:
    engine.open(LIVED)
    engine.open(ONE_SHOT)
    content = _live(engine, dice, longest)
    position = 0
    for chosen, run in groupby(content, key=lambda pair: pair[1]):
        ids = [id for id, _ in run]
        if chosen:
            for id in ids:
                engine.append(ONE_SHOT, id)
        else:
            engine.extend(ONE_SHOT, np.array(ids, np.int32), position)
        position += len(ids)
    same = all(map(torch.equal, _cache(engine, LIVED), _cache(engine, ONE_SHOT)))
    after = [[engine.step([lane])[0] for _ in range(4)] for lane in (LIVED, ONE_SHOT)]
    engine.close(LIVED)
    engine.close(ONE_SHOT)
    return not same or after[0] != after[1]


def _live(engine: Any, dice: random.Random, longest: int) -> list[tuple[int, bool]]:
    """Portions, rollbacks and steps; the ids that are left, and which of them were chosen."""
    content: list[tuple[int, bool]] = []
    for _ in range(14):
        content = content[: int(len(content) * dice.choice((1, 1, 1, 0.95, 0.5)))]
        engine.rollback(LIVED, len(content))
        words = [dice.randrange(900) for _ in range(dice.choice((1, 2, 3, 7, 16, 17, 33, 300)))]
        if len(content) + len(words) + 8 > longest:
            continue
        engine.extend(LIVED, np.array(words, np.int32), len(content))
        content += [(id, False) for id in words]
        content += [(engine.step([LIVED])[0], True) for _ in range(dice.randrange(4))]
    return content


def _complete(engine: Any, lane: int) -> None:
    if engine._lanes[lane].lacks_one:
        engine._compute_last([lane])


def _cache(engine: Any, lane: int) -> list[torch.Tensor]:
    _complete(engine, lane)
    engine.compute.synchronize()
    slot, count = engine.compute._lanes[lane].slot, engine.length(lane)
    layers = engine.compute.kv.layers
    return [part[slot, :, :count] for layer in layers for part in (layer.keys, layer.values)]


def _scores(engine: Any) -> torch.Tensor:
    engine.compute.synchronize()
    scores: torch.Tensor = engine.compute.buffers.logits[0].clone()
    return scores


def last_scores(engine: TransformersEngine, ids: NDArray[np.int32], portions: int) -> torch.Tensor:
    """Scores after ids that arrive in so many portions, float32 [vocabulary]."""
    engine.open(LIVED)
    for part in np.array_split(ids, portions):
        engine.extend(LIVED, part, engine.length(LIVED))
    scores = _scores(engine)
    engine.close(LIVED)
    return scores


def error(scores: torch.Tensor, reference: torch.Tensor) -> float:
    """Relative error of scores, Euclidean."""
    reference = reference.double()
    return float((scores.double() - reference).norm() / reference.norm())
