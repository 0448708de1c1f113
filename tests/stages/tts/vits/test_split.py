import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from pipeline.models import resolve
from pipeline.models.progress import silent
from stages.tts.piper_model import find_voice
from stages.tts.vits.cuts import NotCut, find_cuts
from stages.tts.vits.dataflow import Dataflow
from stages.tts.vits.graphs import Shape, Style, VitsGraphs
from stages.tts.vits.noise import normal
from stages.tts.vits.split import split
from stages.tts.vits.store import open_graphs
from stages.tts.vits.stream import SentenceStream
from tests.stages.tts.vits.tiny import HOP, SYMBOLS, Dialect, tiny_vits, write_tiny_voice

DIALECTS = {
    "plain": Dialect(),
    "speakers": Dialect(speakers=3),
    "fixed durations": Dialect(random_durations=False),
    "other order": Dialect(channels_first=True, noise_first=False),
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if "models" not in request.keywords:
        patch = request.getfixturevalue("monkeypatch")
        patch.setenv("VOXRING_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_a_voice_of_any_exporter_is_cut_and_proven(tmp_path: Path, dialect: Dialect) -> None:
    """`split` itself compares the parts with the whole."""
    place = tmp_path / "parts"
    place.mkdir()
    shape = split(write_tiny_voice(tmp_path, dialect), place, SYMBOLS)
    assert (shape.hop, shape.flow_reach, shape.decoder_reach) == (HOP, 3, 5)
    assert Shape.read(place) == shape


def graphs(tmp_path: Path, dialect: Dialect, style: Style | None = None) -> VitsGraphs:
    voice = write_tiny_voice(tmp_path, dialect)
    return open_graphs(voice, SYMBOLS, style or Style(), 1, silent)


def say(voice: VitsGraphs, ids: list[int], sizes: int = 1000) -> np.ndarray:
    stream = SentenceStream(voice, 0)
    stream.look(ids)
    stream.promise(0, whole=True)
    pieces = []
    while not stream.is_over:
        pieces.append(stream.decode(sizes))
    return np.concatenate(pieces)


def test_windows_of_a_real_decoder_join(tmp_path: Path) -> None:
    voice = graphs(tmp_path, Dialect())
    ids = [1, 0, 4, 0, 5, 0, 3, 0, 6, 0, 7, 0, 2]
    whole = say(voice, ids)
    assert np.abs(say(voice, ids, 7) - whole).max() <= 1e-5


def test_speakers_differ(tmp_path: Path) -> None:
    one, two = (graphs(tmp_path, Dialect(speakers=3), Style(speaker=n)) for n in (0, 2))
    assert not np.array_equal(say(one, [1, 4, 2]), say(two, [1, 4, 2]))


def test_length_and_noise_are_the_styles(tmp_path: Path) -> None:
    plain = graphs(tmp_path, Dialect())
    slow = graphs(tmp_path, Dialect(), Style(length=3.0))
    calm = graphs(tmp_path, Dialect(), Style(noise=0.0))
    ids = np.array([1, 4, 5, 2])
    noise = normal(0, 0, 4, 2)
    assert slow.text(ids, noise).frames > 1.5 * plain.text(ids, noise).frames
    assert not np.array_equal(say(plain, ids.tolist()), say(calm, ids.tolist()))


def test_what_is_no_vits_is_told(tmp_path: Path) -> None:
    from pipeline.models import silero_vad_path

    place = tmp_path / "parts"
    place.mkdir()
    with pytest.raises(NotCut, match="durations"):
        split(silero_vad_path(), place, 4)
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(NotCut, match="no ONNX file"):
        split(tmp_path / "text.onnx", place, 4)


def without(op: str, instead: str) -> onnx.ModelProto:
    model = tiny_vits(Dialect())
    for node in model.graph.node:
        if node.op_type == op:
            node.op_type = instead
    return model


@pytest.mark.parametrize(
    ("op", "instead", "message"),
    [
        ("Ceil", "Round", "one Ceil, of the durations, found 0"),
        ("RandomNormalLike", "Identity", "one noise of the latents, found 0"),
        ("Exp", "Abs", "not mean"),
        ("MatMul", "Add", "spread by Add"),
        ("ConvTranspose", "Conv", "no transposed convolution"),
    ],
)
def test_what_is_missing_is_named(op: str, instead: str, message: str) -> None:
    with pytest.raises(NotCut, match=message):
        find_cuts(Dataflow(without(op, instead).graph))


def test_parts_that_are_not_the_whole_are_refused(tmp_path: Path) -> None:
    """As if the noise were scaled twice: the cuts are found, the sound is another."""
    model = tiny_vits(Dialect())
    names = {node.op_type: node for node in model.graph.node}
    noise = next(n.output[0] for n in model.graph.node[::-1] if n.op_type == "RandomNormalLike")
    user = next(n for n in model.graph.node if noise in n.input)
    half = onnx.helper.make_node("Mul", [user.output[0], names["Ceil"].output[0]], ["half"])
    at = list(model.graph.node).index(user)
    for node in model.graph.node[at + 1 :]:
        node.input[:] = ["half" if name == user.output[0] else name for name in node.input]
    model.graph.node.insert(at + 1, half)
    onnx.save(model, tmp_path / "odd.onnx")
    (tmp_path / "parts").mkdir()
    with pytest.raises(NotCut, match=r"differ|do not run"):
        split(tmp_path / "odd.onnx", tmp_path / "parts", SYMBOLS)


@pytest.mark.models
def test_joe_is_cut(tmp_path: Path) -> None:
    voice = find_voice(resolve("bundle:piper-joe-medium"))
    flow = Dataflow(onnx.load(voice).graph)
    assert find_cuts(flow).durations == "/Ceil_output_0"
    config = json.loads(voice.with_name(f"{voice.name}.json").read_text())
    joe = open_graphs(voice, config["num_symbols"], Style(), 1, silent)
    assert (joe.shape.channels, joe.shape.hop) == (192, 256)
    assert joe.shape.flow_reach == 32
    ids = [1, 0, *(id for n in range(40) for id in (20 + n, 0)), 2]
    whole = say(joe, ids)
    assert np.abs(say(joe, ids, 16) - whole).max() <= 1e-5
