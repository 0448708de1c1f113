"""Choosing ids on the device, as part of a step."""

import torch

from stages.llm.cuda.buffers import Buffers
from stages.llm.sampling import Sampling, draw, penalised


class DeviceSampler:
    """Turns the scores of a step into the best of each lane, in fixed shapes.

    The number that chance draws comes from the host with the step's block, since it is a function
    of seed and position: what is captured draws anew every time.

    Args:
        sampling: how ids are chosen.
        buffers: of the step.
    """

    def __init__(self, sampling: Sampling, buffers: Buffers) -> None:
        self.sampling = sampling
        self._buffers = buffers

    def __call__(self, lanes: int, rows: int, bucket: int, parts: int) -> int:
        """Choose for some lanes, whose greedy best are in `parts` parts; in how many it is then."""
        law, b = self.sampling, self._buffers
        if law.greedy and law.repetition_penalty == 1:
            return parts
        scores = b.logits[:lanes]
        if law.repetition_penalty != 1:
            scores = penalised(scores, self._seen(lanes, rows, bucket), law.repetition_penalty)
        best, best_at = scores.max(-1)  # a NaN is the largest, and is noticed by who publishes
        b.best[:lanes] = best
        b.best_at[:lanes] = best_at if law.greedy else draw(scores, b.drawn[:lanes], law)
        return 1

    def _seen(self, lanes: int, rows: int, bucket: int) -> torch.Tensor:
        """The ids that each conversation has, bool [lanes, vocabulary]."""
        b = self._buffers
        vocabulary = b.logits.shape[1]
        last = b.positions[: lanes * rows].view(lanes, rows).index_select(1, b.row)  # [lanes, 1]
        ids = b.history.index_select(0, b.slots[:lanes])[:, :bucket].long()
        void = torch.arange(bucket, device=ids.device) > last
        seen = torch.zeros(lanes, vocabulary + 1, dtype=torch.bool, device=ids.device)
        return seen.scatter(1, ids.masked_fill(void, vocabulary), True)[:, :vocabulary]
