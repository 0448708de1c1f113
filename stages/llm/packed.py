"""Linear layers as a CPU multiplies soonest: in oneDNN's order, those of one input joined.

PyTorch multiplies a few rows by a matrix as it lies, at a fraction of the memory's speed. oneDNN,
which PyTorch brings, can reorder it once beforehand, as `torch.compile` does when it freezes a
model. Each product also wakes the other threads once; so queries, keys and values are one product,
and so are the two halves of a gated layer. The weights' values stay what they are, and a row of a
result depends on that row and on the number of rows alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn import Linear, Module

JOINED = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))  # as transformers names them


class PackedLinear(Module):
    """A linear layer that is one part of a product.

    Args:
        linear: what it replaces.
        product: of the linear layers that are given the same input.
        part: which of them this is.
    """

    def __init__(self, linear: Linear, product: "_Product", part: int) -> None:
        super().__init__()
        self.bias = linear.bias
        self._product = product
        self._part = part

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """X [..., inputs] to [..., outputs]."""
        return self._product(x, self._part)

    @property
    def weight(self) -> torch.Tensor:
        """A copy, [outputs, inputs], for code of a model that wants to see it."""
        return self._product.weight(self._part)


class _Product:
    """One packed matrix that does the work of several layers.

    Args:
        linears: float32 on a CPU, of equally many inputs.
        rows: that it is mostly given.
    """

    def __init__(self, linears: Sequence[Linear], rows: int) -> None:
        whole = torch.cat([linear.weight.detach() for linear in linears])
        self._sizes = [linear.out_features for linear in linears]
        self._bias = _joined_bias(linears)
        self._packed = torch.ops.mkldnn._reorder_linear_weight(whole, rows)
        self._multiply = torch.ops.mkldnn._linear_pointwise.default
        self._x: torch.Tensor | None = None
        self._parts: tuple[torch.Tensor, ...] = ()

    def __call__(self, x: torch.Tensor, part: int) -> torch.Tensor:
        """Multiply when the first part is asked for; the others then have their results."""
        if part == 0 or x is not self._x:
            product = self._multiply(x, self._packed, self._bias, "none", [], "")
            self._x, self._parts = x, product.split(self._sizes, -1)
        result = self._parts[part]
        if part == len(self._sizes) - 1:
            self._x, self._parts = None, ()
        return result

    def weight(self, part: int) -> torch.Tensor:
        values: torch.Tensor = self._packed.to_dense().split(self._sizes)[part]
        return values


def pack(model: Any, rows: int) -> None:
    """Replace a model's linear layers; what is left of its weights is copied into memory.

    Thus a file that they were mapped from is let go. Layers of a kind of their own and of other
    dtypes stay as they are, and so does all on a processor for which `can_pack` is false.

    Args:
        model: of PyTorch, on a CPU.
        rows: that it is mostly given.
    """
    if not can_pack():
        return
    for module in model.modules():
        for names in _products(module):
            linears = [getattr(module, name) for name in names]
            product = _Product(linears, rows)
            for part, (name, linear) in enumerate(zip(names, linears, strict=True)):
                setattr(module, name, PackedLinear(linear, product, part))
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()


def can_pack() -> bool:
    """Whether this is a processor of which it is known that packed products are sooner."""
    has_onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return has_onednn and "AVX" in torch.backends.cpu.get_cpu_capability()


def _products(module: Module) -> Iterator[tuple[str, ...]]:
    """Names of a module's linear layers, those together that are given the same input."""
    single = {
        name
        for name, child in module.named_children()
        if type(child) is Linear and child.weight.dtype is torch.float32
    }
    for names in JOINED:
        if single.issuperset(names):
            single.difference_update(names)
            yield names
    yield from ((name,) for name in single)


def _joined_bias(linears: Sequence[Linear]) -> torch.Tensor | None:
    """Their biases in a row, zeros where a layer has none."""
    if all(linear.bias is None for linear in linears):
        return None
    return torch.cat(
        [
            linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias
            for linear in linears
        ]
    ).detach()
