"""Any causal language model that transformers loads, as an engine; its weights stay untouched."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers.utils import logging as transformers_logging

from pipeline.config import CudaConfig
from pipeline.errors import ModelError, StageError, reason
from stages.llm.attention import register
from stages.llm.compute import Compute, EagerCompute, Progress
from stages.llm.forward import Forward
from stages.llm.packed import pack
from stages.llm.sampling import Sampling

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
ROWS = 16  # of the chunk step: a word and a template's suffix fit, and on a GPU it costs as one row


class TransformersEngine:
    """The engine contract over a transformers model.

    What a lane's cache holds is a function of its ids and of who wrote them: ids that were given
    are computed by the chunk step, ids that were chosen by the decode step, each in one shape.
    Thus portions, rollbacks and answers that were prepared in vain leave no trace, bit for bit.

    Args:
        model: a causal language model of transformers, in evaluation mode.
        context: ids that each lane can hold.
        sampling: how ids are chosen.
        rows: of the chunk step; 0: a shape for each portion (sooner on a CPU, without the promise
            above).
        compute: what computes; by default that of a CPU.

    Raises:
        ModelError: the model cannot hold that many ids, or keeps no keys that can be rolled back.
    """

    def __init__(
        self,
        model: Any,
        context: int,
        sampling: Sampling | None = None,
        *,
        rows: int = ROWS,
        compute: Compute | None = None,
    ) -> None:
        self.model = model
        self._forward = Forward(model)
        longest = getattr(model.config, "max_position_embeddings", context)
        if context > longest:
            raise ModelError(
                f"{self._forward.name} can hold {longest} ids, llm.context asks for {context}",
                f"Set llm.context to at most {longest}",
            )
        self.context = context
        self.compute: Compute = compute or EagerCompute(
            self._forward, context, rows, sampling or Sampling()
        )
        self._lanes: dict[int, _Lane] = {}

    def open(self, lane: int) -> None:
        """See `Engine.open`."""
        self.compute.open(lane)
        self._lanes[lane] = _Lane.of(self.context)

    def extend(self, lane: int, ids: NDArray[np.int32], position: int) -> None:
        """See `Engine.extend`."""
        state = self._lanes[lane]
        stop = position + len(ids)
        if position != state.length:
            raise ValueError(f"ids for position {position} of a lane that holds {state.length}")
        if stop > self.context:
            raise StageError(f"{stop} ids do not fit in a context of {self.context}")
        known = self._forward.vocabulary
        if ids.min() < 0 or ids.max() >= known:
            raise StageError(
                f"ids from {ids.min()} to {ids.max()}, but the language model knows "
                f"0 to {known - 1}: its tokenizer is not the one that wrote them"
            )
        if state.computed < state.length:
            self._compute_last([lane])
        state.ids[position:stop] = ids
        state.chosen[position:stop] = False
        state.scored = False
        for piece in self.compute.buckets.pieces(position, stop, self.compute.rows):
            end = piece.start + piece.count
            self.compute.chunk(lane, state.ids[piece.start : end], piece)
        state.length = state.computed = stop
        state.scored = True

    def rollback(self, lane: int, position: int) -> None:
        """See `Engine.rollback`."""
        state = self._lanes[lane]
        if not 0 <= position <= state.length:
            raise ValueError(f"rollback to {position} of a lane that holds {state.length}")
        state.length = position
        if position < state.computed:
            state.computed, state.scored = position, False

    def step(self, lanes: Sequence[int]) -> list[int]:
        """See `Engine.step`."""
        states = [self._lanes[lane] for lane in lanes]
        for state in states:
            if not 0 < state.length < self.context:
                raise StageError(
                    f"no next id for {state.length} ids in a context of {self.context}"
                )
            if state.computed == state.length and not state.scored:
                state.computed -= 1  # after a rollback the last id must be asked once more
        self._compute_last([ln for ln, st in zip(lanes, states, strict=True) if st.lacks_one])
        choice = self.compute.choose(lanes, [state.content for state in states])
        if self.compute.runs_ahead:
            self._decode(lanes, [None] * len(lanes), [state.length for state in states])
        for state in states:
            # Until the choice is known to be one, nothing has happened.
            state.scored = not self.compute.runs_ahead
        for state, id in zip(states, choice(), strict=True):
            state.append(id)
            if self.compute.runs_ahead:
                state.computed, state.scored = state.length, True
        return [int(state.ids[state.length - 1]) for state in states]

    def append(self, lane: int, id: int) -> None:
        """Append and compute an id as if `step` had chosen it; for measurements."""
        state = self._lanes[lane]
        if state.lacks_one:
            self._compute_last([lane])
        state.append(id)
        self._compute_last([lane])

    @property
    def rows(self) -> int:
        """Ids that are computed at once."""
        return self.compute.rows

    @property
    def is_batched(self) -> bool:
        """Lanes are better computed together than one after the other."""
        return self.compute.is_batched

    @property
    def stops(self) -> frozenset[int]:
        """Ids that end a reply, as the model's generation config has them."""
        stops = getattr(self.model.generation_config, "eos_token_id", None)
        if stops is None:
            return frozenset()
        return frozenset(stops if isinstance(stops, list) else [stops])

    def temper(self, lane: int, temperature: float | None) -> None:
        """See `Engine.temper`."""
        self.compute.temper(lane, temperature)

    def length(self, lane: int) -> int:
        """See `Engine.length`."""
        return self._lanes[lane].length

    def close(self, lane: int) -> None:
        """See `Engine.close`."""
        if self._lanes.pop(lane, None):
            self.compute.close(lane)

    def _compute_last(self, lanes: Sequence[int]) -> None:
        """Compute each lane's last id by the step that its kind of id is computed by."""
        chosen = []
        for lane in lanes:
            state = self._lanes[lane]
            last = state.computed
            if state.chosen[last]:
                chosen.append(lane)
                continue
            (piece,) = self.compute.buckets.pieces(last, last + 1, self.compute.rows)
            self.compute.chunk(lane, state.ids[last : last + 1], piece)
        if chosen:
            states = [self._lanes[lane] for lane in chosen]
            self._decode(
                chosen,
                [int(state.ids[state.computed]) for state in states],
                [state.computed for state in states],
            )
        for lane in lanes:
            state = self._lanes[lane]
            state.computed, state.scored = state.computed + 1, True

    def _decode(
        self, lanes: Sequence[int], ids: Sequence[int | None], positions: Sequence[int]
    ) -> None:
        """Compute ids that were chosen: a reply's first in full, later ones perhaps cheaper."""
        jobs = list(zip(lanes, ids, positions, strict=True))
        full_steps = self.compute.full_steps
        for cheap in (False, True):
            part = [job for job in jobs if self._lanes[job[0]].is_late(job[2], full_steps) is cheap]
            if part:
                self.compute.decode(*zip(*part, strict=True), cheap=cheap)


@dataclass
class _Lane:
    """What the engine knows of one lane.

    Attributes:
        ids: int32 [context], the content; `length` of it is filled.
        chosen: bool [context]: this id was chosen here, not given.
        computed: how many of them the cache holds: all, or all but the last.
        scored: there are scores for what follows the computed ones.
    """

    ids: NDArray[np.int32]
    chosen: NDArray[np.bool_]
    length: int = field(default=0)
    computed: int = field(default=0)
    scored: bool = field(default=False)

    @classmethod
    def of(cls, context: int) -> "_Lane":
        return cls(np.zeros(context, np.int32), np.zeros(context, np.bool_))

    @property
    def content(self) -> NDArray[np.int32]:
        return self.ids[: self.length]

    @property
    def lacks_one(self) -> bool:
        return self.computed < self.length

    def is_late(self, position: int, full_steps: int) -> bool:
        """Whether the id at a position comes after so many others of its reply; 0: never."""
        earlier = self.chosen[max(0, position - full_steps) : position]
        return 0 < full_steps <= len(earlier) and bool(earlier.all())

    def append(self, id: int) -> None:
        self.ids[self.length], self.chosen[self.length] = id, True
        self.length += 1


def make_engine(
    model: Any,
    context: int,
    sampling: Sampling | None = None,
    *,
    rows: int = ROWS,
    lanes: int = 1,
    mapped: bool = False,
    switches: CudaConfig | None = None,
    progress: Progress = lambda what, done: None,
) -> TransformersEngine:
    """The engine of a model on the device where it lies.

    Args:
        model: a causal language model of transformers, in evaluation mode.
        context: ids that each lane can hold.
        sampling: how ids are chosen.
        rows: of the chunk step.
        lanes: open at once, on a GPU.
        mapped: weights stay where they were loaded to; else a CPU packs them.
        switches: what is used on a GPU.
        progress: told of what takes a while.

    Raises:
        ModelError: the model cannot hold that many ids, keeps no keys that can be rolled back, or
            there is not enough memory.
    """
    sampling = sampling or Sampling()
    if model.device.type != "cuda":
        if model.device.type == "cpu" and not mapped:
            pack(model, rows or ROWS)
        return TransformersEngine(model, context, sampling, rows=rows)
    from stages.llm.cuda.compute import CudaCompute  # needs triton, which only comes with CUDA

    compute = CudaCompute(
        Forward(model), context, lanes, rows or ROWS, sampling, switches or CudaConfig(), progress
    )
    return TransformersEngine(model, context, sampling, compute=compute)


def load_engine(
    folder: Path,
    *,
    context: int,
    dtype: str = "float32",
    device: str = "cpu",
    threads: int = 1,
    sampling: Sampling | None = None,
    rows: int = ROWS,
    lanes: int = 1,
    mapped: bool = False,
    switches: CudaConfig | None = None,
    progress: Progress = lambda what, done: None,
) -> TransformersEngine:
    """Load a model folder (config.json, *.safetensors) without touching the network.

    Args:
        folder: as `save_pretrained` writes it.
        context: ids that each lane can hold.
        dtype: `float32`, `bfloat16` or `float16`.
        device: as torch names it.
        threads: of this process's torch; a process has one such number.
        sampling: how ids are chosen.
        rows: of the chunk step; 0: a shape for each portion (CPU only).
        lanes: open at once, on a GPU.
        mapped: a CPU reads the weights from the mapped file; else they are packed into memory.
        switches: what is used on a GPU.
        progress: told of what takes a while.

    Raises:
        ModelError: the folder is not a causal language model that transformers can load, or it
            does not fit in the GPU's memory.
    """
    torch.set_num_threads(threads)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=_DTYPES[dtype], attn_implementation=register(), local_files_only=True
        )
        model.to(device)
    except torch.OutOfMemoryError as error:
        raise _too_large(folder, device) from error
    except Exception as error:  # NOTE: what transformers raises on a broken file is no list
        raise ModelError(
            f"{folder} is not a causal language model that transformers can load: {reason(error)}",
            "Name a folder with config.json and safetensors, or a model of `voxring models`",
        ) from error
    try:
        return make_engine(
            model.eval(),
            context,
            sampling,
            rows=rows,
            lanes=lanes,
            mapped=mapped,
            switches=switches,
            progress=progress,
        )
    except torch.OutOfMemoryError as error:  # of a first forward, or of its graphs
        raise _too_large(folder, device) from error


def _too_large(folder: Path, device: str) -> ModelError:
    free, total = (size / 2**30 for size in torch.cuda.mem_get_info(device))
    return ModelError(
        f"{folder} does not fit in {device}: {free:.1f} of {total:.1f} GiB are free",
        "Take a smaller model or dtype, fewer lanes or less context, or end other programs on it",
    )
