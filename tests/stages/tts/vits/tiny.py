"""A tiny VITS with random weights, exported in several dialects, none of them Piper's names."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, HOP, SYMBOLS, RATE = 6, 16, 12, 16_000


@dataclass
class Dialect:
    """How an exporter may write the same voice."""

    speakers: int = 1
    random_durations: bool = True
    channels_first: bool = False  # the prior is spread by means @ alignment
    noise_first: bool = True  # noise * exp(log), not exp(log) * noise


@dataclass
class _Graph:
    seed: int = 0
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def __call__(self, op: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        names = [f"v{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names  # type: ignore[return-value]

    def constant(self, value: object, kind: type = np.float32) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def weight(self, *shape: int) -> str:
        return self.constant(self.random.normal(0, 0.5 / np.sqrt(np.prod(shape[1:])), shape))

    def conv(self, x: str, out: int, size: int, channels: int = CHANNELS) -> str:
        pad = size // 2
        weights = self.weight(out, channels, size), self.weight(out)
        return self("Conv", x, *weights, kernel_shape=[size], pads=[pad, pad])


def tiny_vits(dialect: Dialect) -> onnx.ModelProto:
    g = _Graph()
    noise_scale, length, noise_w = (
        g("Gather", "scales", g.constant(number, np.int64), axis=0) for number in range(3)
    )
    axes = {n: g.constant([n], np.int64) for n in (0, 1, 2)}
    # text
    embedded = g("Gather", g.weight(SYMBOLS, CHANNELS), "input")  # [1, T, C]
    x = g("Relu", g.conv(g("Transpose", embedded, perm=[0, 2, 1]), CHANNELS, 3))
    means, logs = g("Split", g.conv(x, 2 * CHANNELS, 1), axis=1, num_outputs=2, outputs=2)
    pace = g.conv(x, 1, 3)
    if dialect.random_durations:
        two = g("Slice", x, g.constant([0], np.int64), g.constant([2], np.int64), axes[1])
        noise = g("Mul", g("RandomNormalLike", two), noise_w)
        pace = g("Add", pace, g.conv(noise, 1, 1, channels=2))
    widths = g("Mul", g("Exp", g("Add", pace, g.constant(1.0))), length)
    durations = g("Ceil", widths)  # [1, 1, T]
    # alignment
    ends = g("CumSum", durations, g.constant(2, np.int64))
    starts = g("Sub", ends, durations)
    total = g("ReduceSum", durations, keepdims=0)
    count = g("Cast", total, to=TensorProto.INT64)
    frames = g("Range", g.constant(0, np.int64), count, g.constant(1, np.int64))
    at = g("Cast", frames, to=TensorProto.FLOAT)
    rows = g("Unsqueeze", g("Unsqueeze", at, axes[0]), axes[2])  # [1, F, 1]
    inside = g("And", g("Less", rows, ends), g("GreaterOrEqual", rows, starts))
    alignment = g("Cast", inside, to=TensorProto.FLOAT)  # [1, F, T]
    mask = g("Cast", g("Less", at, total), to=TensorProto.FLOAT)
    mask = g("Unsqueeze", g("Unsqueeze", mask, axes[0]), axes[1])  # [1, 1, F]

    def spread(prior: str) -> str:
        if dialect.channels_first:
            return g("MatMul", prior, g("Transpose", alignment, perm=[0, 2, 1]))
        rows = g("MatMul", alignment, g("Transpose", prior, perm=[0, 2, 1]))
        return g("Transpose", rows, perm=[0, 2, 1])

    mean, log = spread(means), spread(logs)
    noise, deviation = g("RandomNormalLike", mean), g("Exp", log)
    scaled = g("Mul", *((noise, deviation) if dialect.noise_first else (deviation, noise)))
    latents = g("Add", mean, g("Mul", scaled, noise_scale))
    # flow
    hidden = g("Tanh", g.conv(g("Mul", latents, mask), CHANNELS, 5))
    z = g("Mul", g("Sub", latents, g("Mul", g.conv(hidden, CHANNELS, 3), mask)), mask)
    # decoder
    y = g.conv(z, CHANNELS, 7)
    if dialect.speakers > 1:
        voice = g("Unsqueeze", g("Gather", g.weight(dialect.speakers, CHANNELS), "sid"), axes[2])
        y = g("Add", y, g.conv(voice, CHANNELS, 1))
    for _ in range(2):
        up = g.weight(CHANNELS, CHANNELS, 8)
        y = g("ConvTranspose", g("LeakyRelu", y), up, kernel_shape=[8], strides=[4], pads=[2, 2])
        y = g("Add", y, g.conv(g("LeakyRelu", y), CHANNELS, 3))
    g.nodes.append(helper.make_node("Tanh", [g.conv(y, 1, 7)], ["sound"]))
    inputs = [
        helper.make_tensor_value_info("input", TensorProto.INT64, [1, "t"]),
        helper.make_tensor_value_info("input_lengths", TensorProto.INT64, [1]),
        helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
    ]
    if dialect.speakers > 1:
        inputs.append(helper.make_tensor_value_info("sid", TensorProto.INT64, [1]))
    sound = helper.make_tensor_value_info("sound", TensorProto.FLOAT, [1, 1, "samples"])
    graph = helper.make_graph(g.nodes, "tiny", inputs, [sound], g.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def write_tiny_voice(folder: Path, dialect: Dialect | None = None) -> Path:
    """A voice whose phonemes are a few letters, as files; the path of its .onnx."""
    dialect = dialect or Dialect()
    path = folder / "tiny.onnx"
    onnx.save(tiny_vits(dialect), path)
    names = {f"s{number}": number for number in range(dialect.speakers)}
    phonemes = dict(zip("_^$ abcdef,.", ([id] for id in range(SYMBOLS)), strict=True))
    config = {
        "num_symbols": SYMBOLS,
        "num_speakers": dialect.speakers,
        "speaker_id_map": names if dialect.speakers > 1 else {},
        "audio": {"sample_rate": RATE},
        "espeak": {"voice": "en-us"},
        "phoneme_type": "text",
        "phoneme_id_map": phonemes,
    }
    path.with_name("tiny.onnx.json").write_text(json.dumps(config))
    return path
