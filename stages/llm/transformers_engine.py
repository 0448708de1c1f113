"""Any causal language model that transformers loads, as an engine; its weights stay untouched."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers.utils import logging as transformers_logging

from pipeline.errors import ModelError, StageError
from stages.llm.attention import register
from stages.llm.kv_cache import KvCache
from stages.llm.sampling import Sampler, Sampling

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class TransformersEngine:
    """The engine contract over a transformers model.

    Args:
        model: a causal language model of transformers, in evaluation mode.
        context: ids that each lane can hold.
        sampling: how ids are chosen.

    Raises:
        ModelError: the model cannot hold that many ids, or keeps no keys that can be rolled back.
    """

    def __init__(self, model: Any, context: int, sampling: Sampling | None = None) -> None:
        longest = getattr(model.config, "max_position_embeddings", context)
        if context > longest:
            raise ModelError(
                f"{_name(model)} can hold {longest} ids, llm.context asks for {context}",
                f"Set llm.context to at most {longest}",
            )
        self.context = context
        self._model = model
        self._sampler = Sampler(sampling or Sampling())
        self._vocabulary = int(model.get_input_embeddings().num_embeddings)
        # Renamed in transformers 5.2x; a model with code of its own may keep the old name.
        parameters = inspect.signature(model.forward).parameters
        self._cache_argument = "cache" if "cache" in parameters else "past_key_values"
        self._shapes = self._layer_shapes()
        self._lanes: dict[int, _Lane] = {}

    def open(self, lane: int) -> None:
        """See `Engine.open`."""
        try:
            kv = KvCache(self._shapes, self.context, self._model.dtype, self._model.device)
        except RuntimeError as error:  # torch has no narrower name for it on a CPU
            raise StageError(
                f"no memory for the cache of lane {lane} ({self.context} ids): {error}",
                "Lower llm.context or the number of lanes",
            ) from error
        self._lanes[lane] = _Lane(kv)

    def extend(self, lane: int, ids: NDArray[np.int32], position: int) -> None:
        """See `Engine.extend`. The model's input is `ids` as it lies in memory."""
        state = self._lanes[lane]
        stop = position + len(ids)
        if position != state.length:
            raise ValueError(f"ids for position {position} of a lane that holds {state.length}")
        if stop > self.context:
            raise StageError(f"{stop} ids do not fit in a context of {self.context}")
        if ids.min() < 0 or ids.max() >= self._vocabulary:
            raise StageError(
                f"ids from {ids.min()} to {ids.max()}, but the language model knows "
                f"0 to {self._vocabulary - 1}: its tokenizer is not the one that wrote them"
            )
        given = torch.from_numpy(ids)
        state.ids[position:stop] = given
        # An id that `step` chose is computed with what follows it.
        fresh = given if state.kv.length == position else state.ids[state.kv.length : stop]
        state.logits = self._forward(state.kv, fresh)
        state.length = stop

    def rollback(self, lane: int, position: int) -> None:
        """See `Engine.rollback`."""
        state = self._lanes[lane]
        if not 0 <= position <= state.length:
            raise ValueError(f"rollback to {position} of a lane that holds {state.length}")
        state.length = position
        if position < state.kv.length:
            state.kv.length, state.logits = position, None

    def step(self, lanes: Sequence[int]) -> list[int]:
        """See `Engine.step`. On a CPU the lanes take turns: a batch would save nothing."""
        return [self._step(self._lanes[lane]) for lane in lanes]

    @property
    def stops(self) -> frozenset[int]:
        """Ids that end a reply, as the model's generation config has them."""
        stops = getattr(self._model.generation_config, "eos_token_id", None)
        if stops is None:
            return frozenset()
        return frozenset(stops if isinstance(stops, list) else [stops])

    def length(self, lane: int) -> int:
        """See `Engine.length`."""
        return self._lanes[lane].length

    def close(self, lane: int) -> None:
        """See `Engine.close`."""
        self._lanes.pop(lane, None)

    def _step(self, state: "_Lane") -> int:
        if not 0 < state.length < self.context:
            raise StageError(f"no next id for {state.length} ids in a context of {self.context}")
        if state.logits is None and state.kv.length == state.length:
            state.kv.length -= 1  # after a rollback the last id must be asked once more
        if state.kv.length < state.length:
            state.logits = self._forward(state.kv, state.ids[state.kv.length : state.length])
        assert state.logits is not None
        id = self._sampler.choose(state.logits, state.ids[: state.length])
        state.ids[state.length] = id
        state.length += 1
        return id

    @torch.inference_mode()
    def _forward(self, kv: KvCache, ids: torch.Tensor) -> torch.Tensor:
        """Compute ids [n] behind what the cache holds.

        Returns:
            [vocabulary], the scores of what may follow the last one.
        """
        output = self._model(
            input_ids=ids[None].to(self._model.device),
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_argument: kv.cache},
        )
        kv.length += len(ids)
        logits: torch.Tensor = output.logits[0, -1]
        return logits

    @torch.inference_mode()
    def _layer_shapes(self) -> list[tuple[int, int, int]]:
        """Ask the model itself, since configurations name these sizes in many ways."""
        one = torch.zeros(1, 1, dtype=torch.int32, device=self._model.device)
        output = self._model(input_ids=one, use_cache=True)
        layers = getattr(output.get(self._cache_argument), "layers", [None])
        if not all(isinstance(getattr(layer, "keys", None), torch.Tensor) for layer in layers):
            raise ModelError(
                f"{_name(self._model)} has layers without keys and values, "
                "which cannot be rolled back when the user goes on",
                "Choose a language model whose layers are all attention",
            )
        return [(la.keys.shape[1], la.keys.shape[3], la.values.shape[3]) for la in layers]


class _Lane:
    """What the engine knows of one lane.

    Attributes:
        ids: int32 [context], the content; `length` of it is filled.
        kv: its cache, which may lack the last id: `step` leaves its choice to the next forward.
        logits: scores of the id after the cache's last one; none after a rollback.
    """

    def __init__(self, kv: KvCache) -> None:
        self.ids = torch.zeros(kv.context, dtype=torch.int32)
        self.length = 0
        self.kv = kv
        self.logits: torch.Tensor | None = None


def _name(model: Any) -> str:
    return model.config.name_or_path or type(model).__name__


def load_engine(
    folder: Path,
    *,
    context: int,
    dtype: str = "float32",
    device: str = "cpu",
    threads: int = 1,
    sampling: Sampling | None = None,
) -> TransformersEngine:
    """Load a model folder (config.json, *.safetensors) without touching the network.

    Args:
        folder: as `save_pretrained` writes it; its safetensors are memory-mapped.
        context: ids that each lane can hold.
        dtype: `float32`, `bfloat16` or `float16`.
        device: as torch names it.
        threads: of this process's torch; a process has one such number.
        sampling: how ids are chosen.

    Raises:
        ModelError: the folder is not a causal language model that transformers can load.
    """
    torch.set_num_threads(threads)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=_DTYPES[dtype], attn_implementation=register(), local_files_only=True
        )
        model.to(device)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(
            f"{folder} is not a causal language model that transformers can load: {reason}",
            "Name a folder with config.json and safetensors, or a model of `voxring models`",
        ) from error
    return TransformersEngine(model.eval(), context, sampling)
