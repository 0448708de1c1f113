"""The matrices of a layer, as the kernels take them."""

from dataclasses import dataclass
from typing import Any

import torch

UNLIMITED = 1 << 30  # keys that a row may look back at


@dataclass(frozen=True)
class Weight:
    """One matrix [out, in], in full or in eight bits with a scale for each of its rows."""

    values: torch.Tensor
    scale: torch.Tensor | None = None


@dataclass(frozen=True)
class Layer:
    """The weights of one layer, as views of transformers' parameters."""

    q: Weight
    k: Weight
    v: Weight
    o: Weight
    gate: Weight
    up: Weight
    down: Weight
    biases: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None
    o_bias: torch.Tensor | None
    first_norm: torch.Tensor
    second_norm: torch.Tensor
    window: int

    @classmethod
    def of(cls, layer: Any, config: Any) -> "Layer":
        """The weights of a layer of a model built like Llama."""
        attention, mlp = layer.self_attn, layer.mlp
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        window = getattr(attention, "sliding_window", None)
        if config.model_type == "mistral":
            window = config.sliding_window
        q, k, v = (Weight(projection.weight) for projection in projections)
        return cls(
            q,
            k,
            v,
            Weight(attention.o_proj.weight),
            Weight(mlp.gate_proj.weight),
            Weight(mlp.up_proj.weight),
            Weight(mlp.down_proj.weight),
            None if attention.q_proj.bias is None else tuple(p.bias for p in projections),
            attention.o_proj.bias,
            layer.input_layernorm.weight,
            layer.post_attention_layernorm.weight,
            window or UNLIMITED,
        )
