"""A transformers model folder, built once as an ONNX model for ONNX Runtime on a CPU.

The builder is onnxruntime-genai's. It runs as a program of its own: it holds the weights two or
three times, prints as it goes, and can be killed.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Literal

from pipeline.errors import ModelError
from pipeline.models.cache import need_room
from pipeline.models.child import last_line, run_watched
from pipeline.models.workspace import Workspace

Quantization = Literal["none", "int8", "int4"]
"""Bits of the weights; `none` keeps them exactly, in float32."""

BUILDER = (sys.executable, "-P", "-m", "onnxruntime_genai.models.builder")
"""Program that gets the folder, the precision and the options."""

_OURS = "1"
_NEEDED = ("onnxruntime_genai", "onnx_ir", "torch", "transformers")
_SOURCES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.bin")

# Only the scores of the last id are ever read. With an embedding of its own, whose rows are mapped
# from the file as they are needed, the head's weights are not held in memory a second time.
_COMMON = ("prune_lm_head=true", "shared_embeddings=false", "windowed_kv_cache=false")
_PRECISION: Mapping[Quantization, tuple[str, tuple[str, ...]]] = {
    "none": ("fp32", ()),
    "int8": ("int8", ("is_symmetric=false",)),
    "int4": ("int4", ("is_symmetric=false", "matmul_mixed_precision=last_matmul:int8")),
}

_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def recipe(quantization: Quantization) -> str:
    """The version of what is written here; a build by another one is made again.

    Raises:
        ModelError: the builder is not installed.
    """
    if missing := [name for name in _NEEDED if util.find_spec(name) is None]:
        raise ModelError(
            f"the engine 'onnx' cannot build its model: {missing[0]} is not installed",
            "Run: pip install 'voxring[local]', or set llm.stage to 'transformers'",
        )
    precision, options = _PRECISION[quantization]
    version = metadata.version("onnxruntime-genai")
    return " ".join((_OURS, version, precision, *options))


def sources(folder: Path) -> list[Path]:
    """The files of a model folder that a build depends on."""
    return sorted({path for pattern in _SOURCES for path in folder.glob(pattern)})


def build(
    folder: Path,
    made: Path,
    quantization: Quantization,
    space: Workspace,
    report: Callable[[float], None],
    builder: Sequence[str] = BUILDER,
) -> None:
    """Write model.onnx, its weights, the tokenizer and the chat template.

    Args:
        folder: config.json, safetensors and tokenizer, as transformers reads them.
        made: an existing empty folder.
        quantization: of the weights.
        space: where the builder may leave scratch files.
        report: told how far it is, 0 to 1.
        builder: the program.

    Raises:
        ModelError: a model that the builder does not know, or no room.
    """
    weights = sum(path.stat().st_size for path in sources(folder))
    need_room(made, 2 * weights, "the model for ONNX Runtime")
    report(0.0)
    precision, options = _PRECISION[quantization]
    layers = _layers(folder)
    log = space.folder / "output.txt"
    status, output = run_watched(
        (
            *builder,
            *("-i", str(folder), "-o", str(made), "-c", str(space.folder / "scratch")),
            *("-p", precision, "-e", "cpu"),
            *("--extra_options", *_COMMON, *options),
        ),
        space,
        env={**os.environ, **_QUIET},
        watch=made,
        report=lambda _: report(_share(log, layers)),
    )
    if status != 0:
        raise ModelError(
            f"{folder} cannot be built for ONNX Runtime: {last_line(output) or 'no reason given'}",
            "Set llm.stage to 'transformers', which takes any causal language model",
        )


def _layers(folder: Path) -> int:
    """How many layers the builder will report; a guess will do."""
    config = json.loads((folder / "config.json").read_text())
    return int(config.get("num_hidden_layers") or 32)


def _share(log: Path, layers: int) -> float:
    """How far the builder is: reading layers is two thirds of its time, packing the rest."""
    done = log.read_text(errors="replace").count("Reading layer")
    return min(0.1 + 0.5 * done / layers, 0.9)
