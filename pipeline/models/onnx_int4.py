"""Weights in 4 bits, as close as 4 bits can be: a program.

`python -P -m pipeline.models.onnx_int4 MODEL OUT`. Each block of 32 weights becomes a step, an
offset and 32 numbers from 0 to 15, as in GGUF's Q4_1; weights that were in Q4_1 come out with the
very same values. ONNX Runtime's fast kernel takes whole zero points only, which would shift every
block by up to half a step. So it is given none, and the offsets are multiplied with the sums of the
activations' blocks instead: a small product beside each large one. The head becomes 8 bits with a
step for each block, as in Q8_0.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
_HEAD = "lm_head"
_ACCURACY = 4  # activations in 8 bits, which is what the fast kernels take

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def four_bits(weights: Floats) -> tuple[Bytes, Floats, Floats]:
    """Weights [n, k] as numbers uint8 [n, k / 32, 32], steps and offsets [n, k / 32]."""
    blocks = weights.reshape(len(weights), -1, BLOCK)
    offset = blocks.min(-1)
    step = _not_zero((blocks.max(-1) - offset) / 15)
    numbers = np.clip(np.rint((blocks - offset[..., None]) / step[..., None]), 0, 15)
    return numbers.astype(np.uint8), step, offset


def eight_bits(weights: Floats) -> tuple[Bytes, Floats]:
    """Weights [n, k] as numbers uint8 [n, k / 32, 32] around 128, and steps [n, k / 32]."""
    blocks = weights.reshape(len(weights), -1, BLOCK)
    step = _not_zero(np.abs(blocks).max(-1) / 127)
    return (np.rint(blocks / step[..., None]) + 128).astype(np.uint8), step


def convert(model: Path, out: Path) -> None:
    """Write `model`, a model.onnx in float32, as out/model.onnx with its products in fewer bits.

    Products whose length is no multiple of 32 stay as they are.
    """
    import onnx_ir as ir

    loaded = ir.load(model)
    graph = _Graph(loaded.graph)
    for node in list(loaded.graph):
        factor = node.inputs[1] if node.op_type == "MatMul" else None
        if factor is None or factor.const_value is None:
            continue
        rows = np.ascontiguousarray(factor.const_value.numpy().T)  # [n, k]
        if rows.shape[1] % BLOCK:
            continue
        if _HEAD in (node.name or ""):
            graph.shrink(node, 8, *eight_bits(rows))
        else:
            numbers, step, offset = four_bits(rows)
            graph.shrink(node, 4, _in_pairs(numbers), step)
            graph.add_offsets(node, offset + 8 * step)  # without zero points, 8 is the middle
    ir.save(loaded, out / "model.onnx", external_data="model.onnx.data")


class _Graph:
    """The graph, as far as its products are changed."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._sums: dict[str, Any] = {}  # of the blocks of an activation, by its name

    def shrink(self, node: Any, bits: int, numbers: Bytes, step: Floats) -> None:
        """Make a product one with weights of few bits."""
        import onnx_ir as ir

        name, old = node.inputs[1].name, node.inputs[1]
        size, length = old.const_value.shape[1], old.const_value.shape[0]
        node.op_type, node.domain = "MatMulNBits", "com.microsoft"
        node.replace_input_with(1, self._constant(f"{name}_q{bits}", numbers))
        node.resize_inputs(3)
        node.replace_input_with(2, self._constant(f"{name}_step", step.reshape(-1)))
        for key, value in {
            "K": length,
            "N": size,
            "bits": bits,
            "block_size": BLOCK,
            "accuracy_level": _ACCURACY,
        }.items():
            node.attributes[key] = ir.AttrInt64(key, value)
        if not old.uses():
            del self._graph.initializers[name]

    def add_offsets(self, node: Any, offset: Floats) -> None:
        """Add to a product what the offsets [n, k / 32] of its blocks contribute."""
        import onnx_ir as ir

        result = node.outputs[0]
        readers = tuple(result.uses())
        table = self._constant(f"{node.name}/offset", np.ascontiguousarray(offset.T))
        part = ir.node("MatMul", [self._block_sums(node), table], name=f"{node.name}/offsets")
        whole = ir.node("Add", [result, part.outputs[0]], name=f"{node.name}/whole")
        self._graph.insert_after(node, [part, whole])
        for new in (part, whole):
            new.outputs[0].name = f"{new.name}/out"
        for reader, index in readers:
            reader.replace_input_with(index, whole.outputs[0])

    def _block_sums(self, node: Any) -> Any:
        """The sums of the blocks of what a product takes: [batch, length, k / 32].

        As a product with a table of ones: one operation, where a reduction needs two.
        """
        import onnx_ir as ir

        taken = node.inputs[0]
        if taken.name not in self._sums:
            length = node.attributes["K"].value
            ones = np.repeat(np.eye(length // BLOCK, dtype=np.float32), BLOCK, 0)
            table = self._constant(f"blocks_{length}", ones)
            sums = ir.node("MatMul", [taken, table], name=f"{taken.name}/sums")
            sums.outputs[0].name = f"{taken.name}/sums"
            self._graph.insert_before(node, [sums])
            self._sums[taken.name] = sums.outputs[0]
        return self._sums[taken.name]

    def _constant(self, name: str, content: NDArray[Any]) -> Any:
        """A constant of the graph; one of that name that is there already is the same."""
        import onnx_ir as ir

        if name not in self._graph.initializers:
            tensor = ir.tensor(content, name=name)
            value = ir.Value(
                name=name,
                const_value=tensor,
                type=ir.TensorType(tensor.dtype),
                shape=ir.Shape(content.shape),
            )
            self._graph.register_initializer(value)
        return self._graph.initializers[name]


def _in_pairs(numbers: Bytes) -> Bytes:
    """Two numbers of 4 bits in a byte, the first one low."""
    pairs: Bytes = numbers[..., ::2] | (numbers[..., 1::2] << np.uint8(4))
    return pairs


def _not_zero(step: Floats) -> Floats:
    """Steps, of which one that is zero (all weights the same) may be any other."""
    return np.where(step > 0, step, np.float32(1))


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
