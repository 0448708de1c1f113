"""Choosing one id from a model's scores."""

from dataclasses import dataclass

import torch

from pipeline.errors import StageError


@dataclass(frozen=True)
class Sampling:
    """How ids are chosen.

    Attributes:
        temperature: 0 always takes the best id; above, chance grows with it.
        top_p: chance is among the best ids that together have this much of it, 0 to 1.
        seed: of each lane's dice; the same words then get the same answer.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


class Sampler:
    """The choice for one lane, with dice of its own."""

    def __init__(self, sampling: Sampling, device: torch.device) -> None:
        self._sampling = sampling
        self._dice = torch.Generator(device).manual_seed(sampling.seed)

    def choose(self, logits: torch.Tensor) -> int:
        """One id.

        Args:
            logits: [vocabulary], the scores of each id.

        Raises:
            StageError: the best score is not a finite number.
        """
        best = logits.argmax(-1)  # a NaN counts as the largest
        if not torch.isfinite(logits[best]):
            raise StageError(
                f"the language model's scores are not numbers (best: {float(logits[best])})",
                "Its weights may be broken, or its dtype too small: try llm.dtype = 'float32'",
            )
        return int(best if self._sampling.temperature == 0 else self._draw(logits))

    def _draw(self, logits: torch.Tensor) -> torch.Tensor:
        chances = torch.softmax(logits.float() / self._sampling.temperature, -1)
        chances, order = chances.sort(descending=True)
        # An id stays if the better ones alone do not reach top_p, so that one always stays.
        chances[chances.cumsum(-1) - chances >= self._sampling.top_p] = 0.0
        return order[torch.multinomial(chances, 1, generator=self._dice)][0]
