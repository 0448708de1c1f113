"""Cuts a VITS graph into text, flow and decoder, as files, and proves that they equal the whole."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from stages.tts.vits.cuts import Cuts, NotCut, find_cuts
from stages.tts.vits.dataflow import Dataflow
from stages.tts.vits.graphs import (
    PARTS,
    SHAPE,
    Floats,
    Shape,
    Style,
    VitsGraphs,
    open_session,
    taken,
    text_inputs,
)
from stages.tts.vits.noise import normal

TOLERANCE = 1e-4  # of samples in -1..1; the shipped voice's parts differ by 5e-6 from the whole
_PHONEMES = 24  # of the test sentence
_REACH = 64  # frames that the search for a receptive field looks to each side


def split(source: Path, folder: Path, symbols: int) -> Shape:
    """Write the three graphs of a voice, and their shape, into `folder`.

    Args:
        source: the voice's .onnx file.
        folder: exists and is empty.
        symbols: how many phoneme ids the voice has.

    Raises:
        NotCut: it is no VITS graph that we know, or its parts do not equal it.
    """
    try:
        model = onnx.load(source)
    except Exception as error:  # NOTE: protobuf's errors, which onnx does not wrap
        raise NotCut(f"it is no ONNX file ({error})") from error
    flow = Dataflow(model.graph)
    cuts = find_cuts(flow)
    for name, part in _parts(model, flow, cuts).items():
        onnx.save(part, folder / f"{name}.onnx")
    try:
        shape = _Probe(folder, cuts, _whole(model, flow, cuts), symbols).shape()
    except NotCut:
        raise
    except Exception as error:  # NOTE: ONNX Runtime's own errors share no public base class
        raise NotCut(f"its parts do not run ({error})") from error
    (folder / SHAPE).write_text(json.dumps(asdict(shape)), encoding="utf-8")
    return shape


def _parts(model: Any, flow: Dataflow, cuts: Cuts) -> dict[str, Any]:
    given = {name: name for name in flow.inputs}
    noise = {cuts.duration_noise: "noise"} if cuts.duration_noise else {}
    masks = {name: f"mask{number}" for number, name in enumerate(cuts.masks)}
    text_out = {
        cuts.durations: "durations",
        cuts.means.tensor: "means",
        cuts.logs.tensor: "logs",
    }
    text, flow_part, decoder = PARTS
    return {
        text: _extract(model, flow, given | noise, text_out),
        flow_part: _extract(
            model, flow, given | {cuts.latents: "latents"} | masks, {cuts.frames: "frames"}
        ),
        decoder: _extract(
            model, flow, given | {cuts.frames: "frames"}, {flow.outputs[0]: "samples"}
        ),
    }


def _whole(model: Any, flow: Dataflow, cuts: Cuts) -> bytes:
    """The voice itself, its noise given from outside."""
    noises = {cuts.latent_noise: "latent_noise"}
    if cuts.duration_noise:
        noises[cuts.duration_noise] = "noise"
    given = {name: name for name in flow.inputs} | noises
    whole: bytes = _extract(model, flow, given, {flow.outputs[0]: "samples"}).SerializeToString()
    return whole


def _extract(
    model: Any, flow: Dataflow, given: Mapping[str, str], wanted: Mapping[str, str]
) -> Any:
    """The nodes between two sets of tensors, which get new names, as a model of its own."""
    names = {**given, **wanted}
    nodes, used = _between(flow, given, wanted)
    copies = []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [names.get(name, name) for name in node.input]
        copy.output[:] = [names.get(name, name) for name in node.output]
        copies.append(copy)
    known = {value.name: value.type for value in model.graph.input}
    anything = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph(
        copies,
        "part",
        [
            onnx.helper.make_value_info(new, known.get(old, anything))
            for old, new in given.items()
            if old in used
        ],
        [onnx.helper.make_value_info(new, anything) for new in wanted.values()],
        [tensor for tensor in model.graph.initializer if tensor.name in used],
    )
    return onnx.helper.make_model(
        graph, opset_imports=model.opset_import, ir_version=model.ir_version
    )


def _between(
    flow: Dataflow, given: Mapping[str, str], wanted: Mapping[str, str]
) -> tuple[list[Any], set[str]]:
    """Nodes that are needed for `wanted` if `given` is there, in order; tensors that they take."""
    used, needed = set[str](), set(wanted)
    nodes = []
    for node in reversed(flow.nodes):
        if (needed - set(given)).intersection(node.output):
            nodes.append(node)
            used |= set(filter(None, node.input))
            needed |= used
    return nodes[::-1], used


class _Probe:
    """Runs the parts beside the whole, on noise."""

    def __init__(self, folder: Path, cuts: Cuts, whole: bytes, symbols: int) -> None:
        self._whole = open_session(whole, threads=1)
        first = (cuts.means.channels_first, cuts.logs.channels_first)
        draft = Shape(0, 0, 0, 0, masks=len(cuts.masks), channels_first=first)
        self._graphs = VitsGraphs.open(folder, draft, Style(), threads=1)
        self._ids = np.arange(_PHONEMES) * 7 % symbols

    def shape(self) -> Shape:
        """What is measured; NotCut if the parts are not the whole."""
        graphs, noise = self._graphs, normal(0, 0, _PHONEMES, 2)
        prior = graphs.text(self._ids, noise)
        channels, count = len(prior.means), prior.frames
        latent_noise = normal(1, 0, count, channels)
        frames = graphs.flow(prior.latents(latent_noise, graphs.noise))
        samples = graphs.decode(frames)
        self._prove(samples, noise, latent_noise)
        if len(samples) % count:
            raise NotCut(f"{count} frames give {len(samples)} samples")
        hop = len(samples) // count
        calm = normal(2, 0, 2 * _REACH + 1, channels)
        return replace(
            graphs.shape,
            channels=channels,
            hop=hop,
            flow_reach=_reach(graphs.flow(calm), graphs.flow(_stirred(calm))),
            decoder_reach=_reach(
                *(_by_frame(graphs.decode(f), hop) for f in (calm, _stirred(calm)))
            ),
        )

    def _prove(self, samples: Floats, noise: Floats, latent_noise: Floats) -> None:
        noises = {"noise": noise[None], "latent_noise": latent_noise[None]}
        given = taken(self._whole, Style().inputs() | text_inputs(self._ids) | noises)
        whole = self._whole.run(["samples"], given)[0].reshape(-1)
        if whole.shape != samples.shape:
            raise NotCut(f"the parts give {len(samples)} samples, the whole {len(whole)}")
        if (difference := float(np.abs(whole - samples).max())) > TOLERANCE:
            raise NotCut(f"parts and whole differ by {difference:.2g}")


def _stirred(frames: Floats) -> Floats:
    """The same with another frame in the middle."""
    other = frames.copy()
    other[:, _REACH] += normal(3, 0, 1, len(frames))[:, 0]
    return other


def _reach(one: Floats, other: Floats) -> int:
    """How far from the middle the two differ, in frames; [channels, frames]."""
    places = np.flatnonzero((one != other).any(axis=0)) - _REACH
    reach = int(np.abs(places).max(initial=0))
    if reach >= _REACH:
        raise NotCut(f"a frame depends on {_REACH} or more to its sides")
    return reach


def _by_frame(samples: Floats, hop: int) -> Floats:
    return samples.reshape(-1, hop).T
