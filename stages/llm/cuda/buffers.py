"""The fixed memory of a step: what goes from kernel to kernel, and from one step to the next."""

from dataclasses import dataclass

import torch

from stages.llm.cuda.exchange import LANES, RING, WORDS


@dataclass(frozen=True)
class Buffers:
    """Where every step finds its input and leaves its output.

    Attributes:
        ring: int32 [RING, WORDS], the host's; a block for each step under way.
        copied: the same, on the device, for those who copy instead of reading the host's.
        out: int32 [RING, LANES], the host's: ids that a step chose.
        counter: int32 [1], the next turn, modulo RING; `now` the one under way.
        chosen: int32 [slots], the id that was chosen last.
        history: int32 [slots, capacity], every id of every lane.
        ids: int32 [rows of all lanes]; `positions` int64 beside it.
        slots: int64 [lanes].
        row: int64 [1], of each lane, whose scores are wanted.
        drawn: float32 [lanes], what chance draws, in [0, 1).
        logits: float32 [lanes, vocabulary].
        best: float32 and int32 `best_at` [lanes * parts]: the best of each part of the vocabulary.
    """

    ring: torch.Tensor
    copied: torch.Tensor
    out: torch.Tensor
    counter: torch.Tensor
    now: torch.Tensor
    chosen: torch.Tensor
    history: torch.Tensor
    ids: torch.Tensor
    positions: torch.Tensor
    slots: torch.Tensor
    row: torch.Tensor
    drawn: torch.Tensor
    logits: torch.Tensor
    best: torch.Tensor
    best_at: torch.Tensor

    @classmethod
    def allocate(
        cls,
        slots: int,
        capacity: int,
        lanes: int,
        rows: int,
        vocabulary: int,
        device: torch.device,
    ) -> "Buffers":
        """All of it, zeroed.

        Args:
            slots: of the cache.
            capacity: positions of each.
            lanes: of the largest batch.
            rows: of the largest step, all lanes together.
        """
        pin = device.type == "cuda"

        def host(*shape: int) -> torch.Tensor:
            return torch.zeros(shape, dtype=torch.int32, pin_memory=pin)

        def own(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        return cls(
            ring=host(RING, WORDS),
            copied=own(RING, WORDS),
            out=host(RING, LANES),
            counter=own(1),
            now=own(1),
            chosen=own(slots),
            history=own(slots, capacity),
            ids=own(rows),
            positions=own(rows, dtype=torch.int64),
            slots=own(lanes, dtype=torch.int64),
            row=own(1, dtype=torch.int64),
            drawn=own(lanes, dtype=torch.float32),
            logits=own(lanes, vocabulary, dtype=torch.float32),
            best=own(lanes * vocabulary // 16 + lanes, dtype=torch.float32),
            best_at=own(lanes * vocabulary // 16 + lanes),
        )
