"""Choosing one id from a model's scores: the same law for arrays and for tensors.

In this order, as transformers' `generate` has it: the repetition penalty, the temperature, then
`top_k`, `top_p` and `min_p` leave some ids out, and chance decides among the rest.

Chance has no state: the number drawn for a position of a conversation depends on the seed and on
that position alone. So an answer that was dropped and is asked again, in whatever pieces its words
came, is the same answer.

Nothing here imports torch: an engine may do without it.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import StageError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Sampling:
    """How ids are chosen.

    Attributes:
        temperature: 0 always takes the best id; above, chance grows with it.
        top_p: chance is among the best ids that together have this much of it, 0 to 1.
        top_k: and among so many of the best; 0: any number.
        min_p: and among those with at least this share of the best one's chance, 0 to 1.
        repetition_penalty: the score of an id that the conversation has already is divided by it
            where positive, multiplied where negative; 1: nothing.
        seed: of chance.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    @classmethod
    def of(cls, section: Any) -> Self:
        """Take the settings of a configuration's section `llm`."""
        return cls(**{name: getattr(section, name) for name in cls.__dataclass_fields__})

    def at(self, temperature: float | None) -> Self:
        """The same at another temperature; None: the same."""
        return self if temperature is None else replace(self, temperature=temperature)

    @property
    def greedy(self) -> bool:
        """Always the best id."""
        return self.temperature == 0


def uniform(seed: int, position: int) -> float:
    """The number that chance draws for a position, in [0, 1)."""
    return float(np.random.Generator(np.random.Philox(key=seed, counter=position)).random())


class HostSampler:
    """The choice from an array."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling

    def choose(self, logits: NDArray[np.float32], ids: NDArray[np.int64]) -> int:
        """One id.

        Args:
            logits: [vocabulary], the scores of each id.
            ids: the conversation so far.

        Raises:
            StageError: the best score is not a finite number.
        """
        scores = self._penalised(logits, ids)
        best = int(scores.argmax())  # a NaN counts as the largest
        if not np.isfinite(scores[best]):
            raise _not_a_number(float(scores[best]))
        if self._sampling.greedy:
            return best
        order, chances = self._chances(scores)
        total = chances.cumsum()
        drawn = uniform(self._sampling.seed, len(ids)) * total[-1]
        return int(order[total.searchsorted(drawn, "right").clip(max=len(order) - 1)])

    def _penalised(
        self, logits: NDArray[np.float32], ids: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        penalty = self._sampling.repetition_penalty
        if penalty == 1:
            return logits
        scores = logits.copy()
        said = scores[ids]
        scores[ids] = np.where(said < 0, said * penalty, said / penalty)
        return scores

    def _chances(self, scores: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The ids among which chance decides, the best first, and the chance of each."""
        law = self._sampling
        order = np.arange(len(scores))
        if law.top_k:
            order = np.argpartition(-scores, min(law.top_k, len(scores)) - 1)[: law.top_k]
        chances = np.exp((scores[order].astype(np.float64) - scores.max()) / law.temperature)
        chances /= chances.sum()
        # Ids with less than their equal part of what top_p leaves out cannot be in it even all
        # together, so only the others need to be sorted.
        likely = chances >= max((1 - law.top_p) / len(order), law.min_p * chances.max())
        order, chances = order[likely], chances[likely]
        best_first = np.argsort(-chances, kind="stable")
        order, chances = order[best_first], chances[best_first]
        kept = chances.cumsum() - chances < law.top_p
        return order[kept], chances[kept]


class Sampler:
    """The choice from a tensor, on whatever device it is."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling

    def choose(self, logits: "torch.Tensor", ids: "torch.Tensor") -> int:
        """One id.

        Args:
            logits: [vocabulary], the scores of each id.
            ids: [n], the conversation so far.

        Raises:
            StageError: the best score is not a finite number.
        """
        scores = logits
        if self._sampling.repetition_penalty != 1:
            seen = logits.new_zeros(len(logits)).bool()
            seen[ids.to(logits.device).long()] = True
            scores = penalised(logits, seen, self._sampling.repetition_penalty)
        best = scores.argmax(-1)  # a NaN counts as the largest
        if not scores[best].isfinite():
            raise _not_a_number(float(scores[best]))
        if self._sampling.greedy:
            return int(best)
        drawn = logits.new_tensor(
            uniform(self._sampling.seed, len(ids)), dtype=scores.float().dtype
        )
        return int(draw(scores, drawn, self._sampling))


def penalised(logits: "torch.Tensor", seen: "torch.Tensor", penalty: float) -> "torch.Tensor":
    """Scores after the repetition penalty.

    Args:
        logits: [..., vocabulary].
        seen: bool [..., vocabulary], the ids that the conversation has.
        penalty: above 1 makes them less likely.
    """
    worse = (logits * penalty).where(logits < 0, logits / penalty)
    return worse.where(seen, logits)


def draw(scores: "torch.Tensor", drawn: "torch.Tensor", law: Sampling) -> "torch.Tensor":
    """One id by chance; fixed shapes and no look at a value, so that a CUDA graph can hold it.

    Args:
        scores: [..., vocabulary].
        drawn: [...], numbers in [0, 1).
        law: with a temperature above 0.

    Returns:
        int64 [...].
    """
    scores = scores.float() / law.temperature
    count = min(law.top_k, scores.shape[-1]) if law.top_k else scores.shape[-1]
    scores, order = scores.topk(count) if law.top_k else scores.sort(descending=True)
    chances = scores.softmax(-1)
    # An id stays if the better ones alone do not reach top_p, so that one always stays.
    kept = (chances.cumsum(-1) - chances < law.top_p) & (chances >= law.min_p * chances[..., :1])
    total = (chances * kept).cumsum(-1)
    index = (total <= drawn[..., None] * total[..., -1:]).sum(-1, keepdim=True)
    return order.gather(-1, index.minimum(kept.sum(-1, keepdim=True) - 1))[..., 0]


def _not_a_number(best: float) -> StageError:
    return StageError(
        f"the language model's scores are not numbers (best: {best})",
        "Its weights may be broken, or its dtype too small: try llm.dtype = 'float32'",
    )
