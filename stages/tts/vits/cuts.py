"""Where a VITS graph can be cut, found by what its nodes do and not by how an exporter named them.

Kim, Kong, Son 2021 (VITS) draws the same picture for every such voice:

- the durations are the only tensor that is rounded up (Ceil);
- the noise of the latents is the random tensor on which the durations do not depend;
- scaled by the exponential of the prior's logarithm, and added to the prior's mean, it gives the
  latents; mean and logarithm were spread over the frames by a MatMul with the alignment;
- the decoder begins with the last convolution before the first transposed one (HiFi-GAN).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from stages.tts.vits.dataflow import Dataflow, Node

T = TypeVar("T")
_RANDOM = ("RandomNormalLike", "RandomNormal")


class NotCut(Exception):
    """The graph does not look like that; the message says what is missing."""


@dataclass(frozen=True)
class Prior:
    """A tensor with a row for each phoneme.

    Attributes:
        channels_first: it is [1, channels, phonemes], not [1, phonemes, channels].
    """

    tensor: str
    channels_first: bool


@dataclass(frozen=True)
class Cuts:
    """Names of tensors.

    Attributes:
        durations: float [1, 1, phonemes], whole frames.
        means, logs: of the prior.
        latents: float [1, channels, frames], what the flow takes.
        masks: float [1, 1, frames], what else it takes: ones.
        frames: float [1, channels, frames], what the decoder takes.
        duration_noise: float [1, 2, phonemes]; None: the durations are not random.
        latent_noise: float [1, channels, frames].
    """

    durations: str
    means: Prior
    logs: Prior
    latents: str
    masks: tuple[str, ...]
    frames: str
    duration_noise: str | None
    latent_noise: str


def find_cuts(flow: Dataflow) -> Cuts:
    """The cuts of a graph whose first input is phonemes and whose first output is samples.

    Raises:
        NotCut: it is not a VITS graph, as far as we can see.
    """
    durations = _durations(flow)
    duration_noise, latent_noise = _noises(flow, durations)
    latents, mean, log = _reparametrisation(flow, latent_noise)
    frames = _decoder_entry(flow, latents)
    return Cuts(
        durations=durations,
        means=_prior(flow, mean, durations),
        logs=_prior(flow, log, durations),
        latents=latents,
        masks=_masks(flow, durations, latents, frames),
        frames=frames,
        duration_noise=duration_noise,
        latent_noise=latent_noise,
    )


def _durations(flow: Dataflow) -> str:
    on_the_way = flow.below(flow.inputs[0]) & flow.above(flow.outputs[0])
    rounded = [str(n.output[0]) for n in flow.nodes if n.op_type == "Ceil"]
    return _only([name for name in rounded if name in on_the_way], "Ceil, of the durations")


def _noises(flow: Dataflow, durations: str) -> tuple[str | None, str]:
    needed = flow.above(flow.outputs[0])
    noises = [n.output[0] for n in flow.nodes if n.op_type in _RANDOM and n.output[0] in needed]
    early = [name for name in noises if name in flow.above(durations)]
    late = [name for name in noises if name not in flow.above(durations)]
    of_durations = _only(early, "noise of the durations") if early else None
    return of_durations, _only(late, "noise of the latents")


def _reparametrisation(flow: Dataflow, noise: str) -> tuple[str, str, str]:
    """Latents, spread mean and spread logarithm, of latents = mean + noise * exp(log) * scale."""
    tensor, log = noise, ""
    while (user := _only(flow.users[tensor], f"use of {tensor}")).op_type == "Mul":
        other = _other(user, tensor)
        if _op(flow, other) == "Exp":
            log = flow.maker[other].input[0]
        tensor = user.output[0]
    if user.op_type != "Add" or not log:
        raise NotCut(f"the noise of the latents goes into {user.op_type}, not mean + noise * exp")
    return user.output[0], _other(user, tensor), log


def _prior(flow: Dataflow, spread: str, durations: str) -> Prior:
    """The tensor that a MatMul with the alignment spread over the frames."""
    while _op(flow, spread) == "Transpose":
        spread = flow.maker[spread].input[0]
    if _op(flow, spread) != "MatMul":
        raise NotCut(f"the prior is spread by {_op(flow, spread) or 'nothing'}, not by MatMul")
    timed = flow.below(durations)
    left, right = flow.maker[spread].input
    if (left in timed) == (right in timed):
        raise NotCut("the prior is not spread by the durations")
    return Prior(right, False) if left in timed else Prior(left, True)


def _decoder_entry(flow: Dataflow, latents: str) -> str:
    behind = flow.below(latents)
    ups = [n for n in flow.nodes if n.op_type == "ConvTranspose" and n.input[0] in behind]
    if not ups:
        raise NotCut("there is no transposed convolution behind the latents")
    entries, todo = list[str](), [str(ups[0].input[0])]
    while todo:
        maker = flow.maker[todo.pop()]
        if maker.op_type == "Conv":
            entries.append(maker.input[0])
        else:
            todo += [name for name in maker.input if name in behind - {latents}]
    return _only(entries, "convolution at the decoder's entry")


def _masks(flow: Dataflow, durations: str, latents: str, frames: str) -> tuple[str, ...]:
    """What the nodes between latents and frames take besides, if it depends on the durations."""
    between = flow.below(latents) & flow.above(frames)
    inner = [flow.maker[name] for name in between - {latents}]
    taken = {name for node in inner for name in node.input if name}
    return tuple(sorted(taken & flow.below(durations) - flow.below(latents)))


def _only(found: Sequence[T], what: str) -> T:
    if len(found) != 1:
        raise NotCut(f"expected one {what}, found {len(found)}")
    return found[0]


def _other(node: Node, name: str) -> str:
    """The second operand."""
    one, two = node.input
    other: str = two if one == name else one
    return other


def _op(flow: Dataflow, name: str) -> str:
    return flow.maker[name].op_type if name in flow.maker else ""
