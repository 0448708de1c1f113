"""One forward of a transformers model in a fixed shape, over a cache of ours."""

import inspect
from typing import Any

import torch

from pipeline.errors import ModelError
from stages.llm.kv_cache import KvCache

Shape = tuple[int, int, int]  # (key heads, head size of keys, head size of values) of a layer


class Forward:
    """A model as a function of tensors alone: no length and no position is a Python number.

    Called with the same shapes and bucket it does the same operations on the same addresses, so it
    can be captured as a graph, and a row's numbers do not depend on what the other rows hold.

    Args:
        model: a causal language model of transformers, in evaluation mode.

    Attributes:
        shapes: of each layer's keys and values.
        vocabulary: ids that it knows.

    Raises:
        ModelError: it has layers that keep no keys.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.vocabulary = int(model.get_input_embeddings().num_embeddings)
        # Renamed in transformers 5.2x; a model with code of its own may keep the old name.
        parameters = inspect.signature(model.forward).parameters
        self._cache_argument = "cache" if "cache" in parameters else "past_key_values"
        self.shapes = self._layer_shapes()

    @property
    def name(self) -> str:
        """What to call the model in a message."""
        return self.model.config.name_or_path or type(self.model).__name__

    @torch.inference_mode()
    def __call__(
        self, kv: KvCache, ids: torch.Tensor, positions: torch.Tensor, row: torch.Tensor
    ) -> torch.Tensor:
        """Compute rows of ids into a cache that is aimed at their positions.

        Args:
            ids: int [lanes, rows].
            positions: int64 [lanes, rows], as the cache is aimed.
            row: int64 [1], of each lane, whose scores are wanted.

        Returns:
            [lanes, vocabulary], the scores of what may follow that row.
        """
        output = self.model(
            input_ids=ids,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=row,
            **{self._cache_argument: kv.cache},
        )
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    @torch.inference_mode()
    def _layer_shapes(self) -> list[Shape]:
        """Ask the model itself, since configurations name these sizes in many ways."""
        one = torch.zeros(1, 1, dtype=torch.int32, device=self.model.device)
        output = self.model(input_ids=one, use_cache=True)
        layers = getattr(output.get(self._cache_argument), "layers", [None])
        if not all(isinstance(getattr(layer, "keys", None), torch.Tensor) for layer in layers):
            raise ModelError(
                f"{self.name} has layers without keys and values, "
                "which cannot be rolled back when the user goes on",
                "Choose a language model whose layers are all attention",
            )
        return [(la.keys.shape[1], la.keys.shape[3], la.values.shape[3]) for la in layers]
