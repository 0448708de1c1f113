"""Models built like Llama, as a chain of few kernels over the weights as transformers loaded them.

Six kernels a layer instead of about fifteen, with the residual in float32 between them. The plain
forward of transformers remains for every other model, and is the reference in the tests.
"""

import math
from typing import Any

import torch

from stages.llm.cuda.attend import attend_kernel, merge_kernel
from stages.llm.cuda.buffers import Buffers
from stages.llm.cuda.linear import (
    embed_kernel,
    gate_up_kernel,
    head_kernel,
    norm_kernel,
    qkv_kernel,
    residual_kernel,
)
from stages.llm.cuda.tiles import choose_tile
from stages.llm.cuda.weights import Layer, Weight
from stages.llm.kv_cache import KvCache

FAMILIES = ("llama", "mistral", "qwen2")
ROPES = ("default", "linear", "llama3", "yarn")  # whose angles do not depend on the length so far
MANY = 16  # rows from which on a norm is a kernel of its own
SPLITS = 32  # programs that share the keys of one head at most


def why_not(model: Any) -> str:
    """Why a model cannot run as this chain; "" if it can."""
    config = model.config
    rope = getattr(config, "rope_parameters", None) or {}
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if config.model_type not in FAMILIES:
        return f"{config.model_type} is not one of {', '.join(FAMILIES)}"
    if getattr(config, "hidden_act", "") != "silu" or getattr(config, "mlp_bias", False):
        return "its feed-forward part is not silu(gate) * up without bias"
    if rope.get("rope_type", "default") not in ROPES or rope.get("partial_rotary_factor", 1) != 1:
        return f"its rotary embedding is {rope}"
    if head & (head - 1) or not 16 <= head <= 256:
        return f"its head size is {head}"
    if model.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return f"its weights are {model.dtype}"
    return ""


class Llama:
    """The chain.

    Args:
        model: of transformers, for which `why_not` is empty.
        kv: its cache.
        buffers: of its steps.
        lanes: of the largest batch.
        rows: of the chunk step.
        fused_norm: norms inside the products, as long as rows are few.
    """

    def __init__(
        self,
        model: Any,
        kv: KvCache,
        buffers: Buffers,
        lanes: int,
        rows: int,
        *,
        fused_norm: bool = True,
    ) -> None:
        config, device = model.config, model.device
        self.kv, self.buffers = kv, buffers
        self._fused_norm = fused_norm
        self._eps = float(config.rms_norm_eps)
        self.hidden = int(config.hidden_size)
        self.heads = int(config.num_attention_heads)
        self.kv_heads = int(config.num_key_value_heads)
        self.size = int(kv.layers[0].keys.shape[-1])
        self.inner = int(config.intermediate_size)
        self.embedding = model.get_input_embeddings().weight
        self.head = Weight(model.get_output_embeddings().weight)
        self.norm = model.model.norm.weight
        self.layers = [Layer.of(layer, config) for layer in model.model.layers]
        self.cos, self.sin = _angles(model.model.rotary_emb, kv.capacity)
        most = max(lanes, rows)
        group = self.heads // self.kv_heads
        stacked = max(lanes * _rows(1, group), _rows(rows, group))

        def scratch(*shape: int, dtype: torch.dtype = model.dtype) -> torch.Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._residual = scratch(most, self.hidden, dtype=torch.float32)
        self._normed = scratch(most, self.hidden)
        self._q = scratch(most, self.heads * self.size)
        self._attended = scratch(most, self.heads * self.size)
        self._inner = scratch(most, self.inner)
        cells = stacked * self.kv_heads * SPLITS
        self._part = scratch(cells, self.size, dtype=torch.float32)
        self._part_max = scratch(cells, dtype=torch.float32)
        self._part_sum = scratch(cells, dtype=torch.float32)

    @torch.inference_mode()
    def __call__(
        self, lanes: int, rows: int, bucket: int, layers: "list[Layer] | None" = None
    ) -> int:
        """Compute what the buffers ask for: lanes of `rows` rows each.

        Args:
            layers: other weights than the model's own.

        Returns:
            Parts that the best scores are in, for each lane.
        """
        m = lanes * rows
        block = 512
        embed_kernel[(m, -(-self.hidden // block))](
            self.buffers.ids, self.embedding, self._residual, self.hidden, BLOCK=block
        )
        for index, layer in enumerate(layers or self.layers):
            self.qkv(layer, index, m, rows)
            self._attend(layer, index, lanes, rows, bucket)
            self.project(layer, m)
            self.gate_up(layer, m)
            self.down(layer, m)
        return self.score(lanes, rows)

    def _input(self, gain: torch.Tensor, m: int) -> tuple[torch.Tensor, bool]:
        """What a product behind a norm reads, and whether it must do the norm."""
        if self._fused_norm and m <= MANY:
            return self._residual, True
        width = 1 << (self.hidden - 1).bit_length()
        norm_kernel[(m,)](
            self._residual, gain, self._normed, self.hidden, self._eps, BLOCK=width, num_warps=8
        )
        return self._normed, False

    def qkv(self, layer: Layer, index: int, m: int, rows: int) -> None:
        """Queries into their buffer, keys and values into the cache."""
        x, norm = self._input(layer.first_norm, m)
        cache, half = self.kv.layers[index], self.size // 2
        tile = choose_tile("qkv", m, self.hidden, narrow=layer.q.scale is not None)
        tile = tile.at_most(self.size)
        biases = layer.biases or (layer.first_norm,) * 3
        scales = [w.scale if w.scale is not None else self.cos for w in (layer.q, layer.k, layer.v)]
        programs = (self.heads + 2 * self.kv_heads) * (self.size // tile.block_n)
        qkv_kernel[(programs,)](
            x, layer.q.values, layer.k.values, layer.v.values, *scales, *biases,
            layer.first_norm, self.cos, self.sin, self.buffers.positions, self.buffers.slots,
            self._q, cache.keys, cache.values,
            m, self.hidden, self._eps, cache.keys.stride(0), cache.keys.stride(1),
            N_ROWS=rows, HEADS=self.heads, KV_HEADS=self.kv_heads, HALF=half, NORM=norm,
            HAS_BIAS=layer.biases is not None, HAS_SCALE=layer.q.scale is not None,
            **tile.arguments(m, self.hidden),
        )  # fmt: skip

    def _attend(self, layer: Layer, index: int, lanes: int, rows: int, bucket: int) -> None:
        cache, buffers = self.kv.layers[index], self.buffers
        group = self.heads // self.kv_heads
        stacked = _rows(rows, group)
        split = max(64, 1 << (-(-bucket // SPLITS) - 1).bit_length())
        splits = -(-bucket // split)
        scale = self.size**-0.5 * math.log2(math.e)
        parts = (self._part, self._part_max, self._part_sum)
        attend_kernel[(splits, self.kv_heads, lanes)](
            self._q, cache.keys, cache.values, buffers.positions, buffers.slots, buffers.row,
            *parts, cache.keys.stride(0), cache.keys.stride(1), scale, layer.window,
            N_ROWS=rows, GROUP=group, KV_HEADS=self.kv_heads, D=self.size, ROWS=stacked,
            SPLIT=split, BLOCK=64, SPLITS=splits, num_warps=4 if stacked <= 64 else 8,
        )  # fmt: skip
        merge_kernel[(lanes * rows, self.heads)](
            *parts, buffers.positions, buffers.row, self._attended,
            N_ROWS=rows, GROUP=group, KV_HEADS=self.kv_heads, D=self.size, ROWS=stacked,
            SPLIT=split, SPLITS=splits, WIDTH=max(2, 1 << (splits - 1).bit_length()), num_warps=2,
        )  # fmt: skip

    def project(self, layer: Layer, m: int) -> None:
        """Add what attention found to the residual."""
        self._add(self._attended, layer.o, layer.o_bias, m, self.heads * self.size)

    def down(self, layer: Layer, m: int) -> None:
        """Add what the feed-forward part found to the residual."""
        self._add(self._inner, layer.down, None, m, self.inner)

    def _add(
        self, x: torch.Tensor, weight: Weight, bias: torch.Tensor | None, m: int, inner: int
    ) -> None:
        """Add a product to the residual."""
        tile = choose_tile("add", m, inner, narrow=weight.scale is not None)
        residual_kernel[(-(-self.hidden // tile.block_n),)](
            x, weight.values, _or(weight.scale, self.cos), self.norm, _or(bias, self.norm),
            self._residual, m, self.hidden, inner,
            HAS_BIAS=bias is not None, HAS_SCALE=weight.scale is not None,
            **tile.arguments(m, inner),
        )  # fmt: skip

    def gate_up(self, layer: Layer, m: int) -> None:
        """The first half of the feed-forward part."""
        x, norm = self._input(layer.second_norm, m)
        gate, up = layer.gate, layer.up
        tile = choose_tile("gate_up", m, self.hidden, narrow=gate.scale is not None)
        bytes_apart = up.values.data_ptr() - gate.values.data_ptr()
        gate_up_kernel[(-(-self.inner // (tile.block_n // 2)),)](
            x, gate.values, bytes_apart // gate.values.element_size(),
            _or(gate.scale, self.cos), _or(up.scale, self.cos), layer.second_norm,
            self._inner, m, self.inner, self.hidden, self._eps,
            NORM=norm, HAS_SCALE=gate.scale is not None, **tile.arguments(m, self.hidden),
        )  # fmt: skip

    def score(self, lanes: int, rows: int) -> int:
        """Scores of one row of each lane; in how many parts their best are."""
        x, norm = self._input(self.norm, lanes * rows)
        buffers, vocabulary = self.buffers, len(self.head.values)
        tile = choose_tile("head", lanes, self.hidden, narrow=False)
        programs = -(-vocabulary // tile.block_n)
        head_kernel[(programs,)](
            x, self.head.values, self.norm, buffers.row, buffers.logits,
            buffers.best, buffers.best_at, lanes, vocabulary, self.hidden, self._eps,
            N_ROWS=rows, NORM=norm, **tile.arguments(lanes, self.hidden),
        )  # fmt: skip
        return programs


def _rows(rows: int, group: int) -> int:
    """Rows of an attention program: a tensor core takes 16 at least, and powers of two."""
    return max(16, 1 << (rows * group - 1).bit_length())


def _or(tensor: torch.Tensor | None, instead: torch.Tensor) -> torch.Tensor:
    """A kernel takes a pointer also where it reads nothing."""
    return instead if tensor is None else tensor


def _angles(rotary: Any, capacity: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of every position, float32 [capacity, head size / 2]."""
    places = torch.arange(capacity, device=rotary.inv_freq.device, dtype=torch.float32)
    angles = torch.outer(places, rotary.inv_freq.float())
    return angles.cos() * rotary.attention_scaling, angles.sin() * rotary.attention_scaling
