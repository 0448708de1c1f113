"""A transformers model folder, built once as an ONNX model for ONNX Runtime on a CPU.

The builder is onnxruntime-genai's. It runs as a program of its own: it holds the weights two or
three times, prints as it goes, and can be killed.
"""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import util
from pathlib import Path
from typing import Literal

from pipeline.errors import ModelError
from pipeline.models.cache import need_room
from pipeline.models.child import last_line, run_watched
from pipeline.models.json_file import read_object
from pipeline.models.workspace import Workspace
from pipeline.packages import version_of

Quantization = Literal["none", "int8", "int4"]
"""Bits of the weights; `none` keeps them exactly, in float32."""

BUILDER = (sys.executable, "-P", "-m", "onnxruntime_genai.models.builder")
"""Program that gets the folder, the precision and the options."""

SHRINKER = (sys.executable, "-P", "-m", "pipeline.models.onnx_int4")
"""Program that gets a model and the folder for one with weights of 4 bits."""

PACKER = (sys.executable, "-P", "-m", "pipeline.models.onnx_pack")
"""Program that gets a model and the folder for one with packed weights."""

_OURS = "3"
_NEEDED = ("onnxruntime_genai", "onnx_ir", "torch", "transformers")
_SOURCES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.bin")

# Only the scores of the last id are ever read. With an embedding of its own, whose rows are mapped
# from the file as they are needed, the head's weights are not held in memory a second time.
_COMMON = ("prune_lm_head=true", "shared_embeddings=false", "windowed_kv_cache=false")
_PRECISION: Mapping[Quantization, tuple[str, tuple[str, ...]]] = {
    "none": ("fp32", ()),
    "int8": ("int8", ("is_symmetric=false",)),
    "int4": ("fp32", ()),  # its 4 bits are our own, see onnx_int4
}

_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def recipe(quantization: Quantization, *, mapped: bool, kept: str) -> str:
    """The version of what is written here; a build by another one is made again.

    Packed weights are good for one version of ONNX Runtime on one kind of processor.

    Args:
        quantization: of the weights.
        mapped: they are packed.
        kept: of the build that is there, or empty; where no builder is installed, its version of
            the builder is as good as any.
    """
    precision, options = _PRECISION[quantization]
    version = " ".join(kept.split()[1:2]) if _missing() else _version("onnxruntime-genai")
    packed = (_version("onnxruntime"), _processor()) if mapped else ()
    return " ".join((_OURS, version, quantization, precision, *options, *packed))


def _version(package: str) -> str:
    return version_of(package) or "unknown"


def _missing() -> str:
    """The first library that building needs and that is not installed; empty: none."""
    return next((name for name in _NEEDED if util.find_spec(name) is None), "")


def sources(folder: Path) -> list[Path]:
    """The files of a model folder that a build depends on."""
    found = {path for pattern in _SOURCES for path in folder.glob(pattern)}
    # A stamp of ours is rewritten whenever the folder was copied.
    return sorted(path for path in found if not path.name.startswith("."))


def build(
    folder: Path,
    made: Path,
    quantization: Quantization,
    space: Workspace,
    report: Callable[[float], None],
    *,
    mapped: bool = False,
    builder: Sequence[str] = BUILDER,
) -> None:
    """Write model.onnx, its weights, the tokenizer and the chat template, and build.json.

    Args:
        folder: config.json, safetensors and tokenizer, as transformers reads them.
        made: an existing empty folder.
        quantization: of the weights.
        space: where the builder may leave scratch files.
        report: told how far it is, 0 to 1.
        mapped: write the weights packed, to be mapped.
        builder: the program.

    Raises:
        ModelError: a model that the builder does not know, no builder, or no room.
    """
    if missing := _missing():
        raise ModelError(
            f"the engine 'onnx' cannot build its model: {missing} is not installed",
            "Run: pip install 'voxring[local]', or set llm.stage to 'transformers'",
        )
    weights = sum(path.stat().st_size for path in sources(folder))
    need_room(made, (4 if mapped else 2) * weights, "the model for ONNX Runtime")
    report(0.0)
    precision, options = _PRECISION[quantization]
    layers = _layers(folder)
    log = space.folder / "output.txt"
    _run(
        folder,
        (
            *builder,
            *("-i", str(folder), "-o", str(made), "-c", str(space.folder / "scratch")),
            *("-p", precision, "-e", "cpu"),
            *("--extra_options", *_COMMON, *options),
        ),
        space,
        lambda: report(_share(log, layers)),
    )
    if quantization == "int4":
        _rewrite(folder, SHRINKER, made, space, lambda: report(0.8))
    data = made / "model.onnx.data"
    size = data.stat().st_size if data.exists() else 0
    (made / "build.json").write_text(json.dumps({"weights": size}) + "\n")
    if mapped:
        _rewrite(folder, PACKER, made, space, lambda: report(0.95))


def _rewrite(
    folder: Path,
    program: Sequence[str],
    made: Path,
    space: Workspace,
    report: Callable[[], None],
) -> None:
    """Put another model in the place of the one that was made."""
    out = space.folder / "rewritten"
    out.mkdir()
    _run(folder, (*program, str(made / "model.onnx"), str(out)), space, report)
    for path in out.iterdir():
        path.replace(made / path.name)
    out.rmdir()


def _run(
    folder: Path, command: Sequence[str], space: Workspace, report: Callable[[], None]
) -> None:
    status, output = run_watched(
        command,
        space,
        env={**os.environ, **_QUIET},
        watch=space.folder,
        report=lambda _: report(),
    )
    if status != 0:
        raise ModelError(
            f"{folder} cannot be built for ONNX Runtime: {last_line(output) or 'no reason given'}",
            "Set llm.stage to 'transformers', which takes any causal language model",
        )


def _layers(folder: Path) -> int:
    """How many layers the builder will report; a guess will do."""
    layers = read_object(folder / "config.json").get("num_hidden_layers")
    return layers if isinstance(layers, int) and layers > 0 else 32


def _share(log: Path, layers: int) -> float:
    """How far the builder is: reading layers is two thirds of its time, packing the rest."""
    done = log.read_text(errors="replace").count("Reading layer")
    return min(0.1 + 0.5 * done / layers, 0.9)


def _processor() -> str:
    """What tells one kind of processor from another, for those who pack weights for it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # macOS
        lines = [platform.processor(), platform.machine()]
    told = sorted({line for line in lines if line.startswith(("flags", "Features", "CPU part"))})
    return hashlib.sha256("\n".join(told or lines).encode()).hexdigest()[:12]
