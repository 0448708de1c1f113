"""Weights in eight bits, for steps that may be cheaper: half the bytes of every product."""

from dataclasses import replace

import torch

from stages.llm.cuda.weights import Layer, Weight


def narrow(layer: Layer) -> Layer:
    """The same layer with its matrices in eight bits; the full ones stay where they are."""
    gate, up = _narrow_together(layer.gate, layer.up)
    return replace(
        layer,
        q=_narrow(layer.q),
        k=_narrow(layer.k),
        v=_narrow(layer.v),
        o=_narrow(layer.o),
        gate=gate,
        up=up,
        down=_narrow(layer.down),
    )


def _narrow(weight: Weight) -> Weight:
    """Symmetric, with one scale for each row."""
    full = weight.values.float()
    scale = full.abs().amax(1).clamp(min=1e-12) / 127
    return Weight((full / scale[:, None]).round().to(torch.int8), scale)


def _narrow_together(one: Weight, other: Weight) -> tuple[Weight, Weight]:
    """In one piece of memory, so that their distance is a multiple of what is loaded at once."""
    first, second = _narrow(one), _narrow(other)
    both = torch.stack([first.values, second.values])
    return Weight(both[0], first.scale), Weight(both[1], second.scale)
