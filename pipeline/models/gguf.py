"""GGUF weights, converted once to safetensors so that every later start memory-maps them.

transformers can read a GGUF file, but dequantises it at each start: ten seconds and half a gigabyte
of private memory for a small model, and a further dependency. The folder written here holds the
same values in float32, and loads in a blink.

Written for models of the llama family with a byte-level vocabulary. What is not known to come out
exact is refused; such a model is used by its hub id instead.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import ModelError
from pipeline.models.cache import need_room
from pipeline.models.gguf_tokenizer import write_tokenizer
from pipeline.models.progress import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RECIPE = "1"
"""The version of what is written here; a conversion by another one is made again."""

_MAGIC = b"GGUF"

_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER_NAMES = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}


def convert(source: Path, folder: Path, progress: Progress) -> None:
    """Write a GGUF file as a transformers model folder.

    config.json, generation_config.json, tokenizer.json, tokenizer_config.json, the chat template,
    and model.safetensors: float32, the dequantised values exactly; a head tied to the embedding is
    left out.

    Args:
        source: the GGUF file.
        folder: an existing empty folder.
        progress: told what is being done.

    Raises:
        ModelError: not an intact GGUF file of a kind known here, or a library is not installed.
        OSError: `folder` cannot be written.
    """
    text = f"converting {source.stem} (once)"
    progress(text, 0.0)
    _need_libraries(source)
    with _readable(source):
        reader = _open(source)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        config = _config(fields, {tensor.name for tensor in reader.tensors})
        tensors = _tensors(reader, config, lambda share: progress(text, 0.3 + 0.4 * share))
    config["vocab_size"] = len(tensors["model.embed_tokens.weight"])  # may be padded
    _write_json(folder / "config.json", config)
    ids = ("bos_token_id", "eos_token_id", "pad_token_id")
    _write_json(folder / "generation_config.json", {key: config[key] for key in ids})
    progress(text, 0.7)
    with _readable(source):
        write_tokenizer(fields, folder, length=config["max_position_embeddings"])
    progress(text, 0.8)
    _save(tensors, folder / "model.safetensors")


def _need_libraries(source: Path) -> None:
    try:
        for name in ("gguf", "safetensors", "tokenizers"):
            import_module(name)
    except ImportError as error:
        raise ModelError(
            f"{source} cannot be converted: {error.name} is not installed",
            "Run: pip install 'voxring[local]'",
        ) from error


@contextmanager
def _readable(source: Path) -> Iterator[None]:
    """Turn what a file that cannot be read raises, here and in the gguf package, into our error."""
    try:
        yield
    except (
        ValueError,
        LookupError,
        NotImplementedError,
        OverflowError,
        OSError,
        struct.error,
    ) as e:
        reason = f"no {e}" if isinstance(e, KeyError) else " ".join(str(e).split())
        raise ModelError(
            f"{source} cannot be converted: {reason or type(e).__name__}",
            "Use an intact GGUF file of the llama family, or the model's hub id",
        ) from e


def _open(source: Path) -> Any:
    import gguf

    with source.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("it is not a GGUF file, which begins with the letters 'GGUF'")
    return gguf.GGUFReader(source)


def _config(fields: Mapping[str, Any], stored: set[str]) -> dict[str, Any]:
    """Return config.json for the llama class of transformers."""
    if (kind := fields["general.architecture"]) != "llama":
        raise ValueError(f"its architecture is '{kind}', expected 'llama'")
    if "llama.rope.scaling.type" in fields:
        raise ValueError("its rope is scaled, which is not known here")
    heads = fields["llama.attention.head_count"]
    width = fields["llama.embedding_length"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "hidden_size": width,
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": fields.get("llama.attention.head_count_kv", heads),
        "head_dim": fields.get("llama.attention.key_length", width // heads),
        "max_position_embeddings": fields["llama.context_length"],
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": fields.get("llama.rope.freq_base", 10_000.0),
        },
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": "output.weight" not in stored,
        "bos_token_id": fields.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": fields.get("tokenizer.ggml.eos_token_id"),
        "pad_token_id": fields.get("tokenizer.ggml.padding_token_id"),
    }


def _tensors(
    reader: Any, config: Mapping[str, Any], report: Callable[[float], None]
) -> dict[str, "NDArray[np.float32]"]:
    """Return the weights by their transformers names, float32."""
    import gguf

    names = _names(config["num_hidden_layers"])
    if strange := sorted({tensor.name for tensor in reader.tensors} - names.keys()):
        raise ValueError(f"its weights '{strange[0]}' are not known here")
    tensors = {}
    for index, tensor in enumerate(reader.tensors):
        report(index / len(reader.tensors))
        weight = gguf.dequantize(tensor.data, tensor.tensor_type)
        tensors[names[tensor.name]] = _unfolded(weight, tensor.name, config)
    if missing := sorted(set(names.values()) - {"lm_head.weight"} - tensors.keys()):
        raise ValueError(f"it has no weights for '{missing[0]}'")
    return tensors


def _names(layers: int) -> dict[str, str]:
    """Return the transformers name of each weight by its GGUF name."""
    return _NAMES | {
        f"blk.{layer}.{ours}": f"model.layers.{layer}.{theirs}"
        for layer in range(layers)
        for ours, theirs in _LAYER_NAMES.items()
    }


def _unfolded(
    weight: "NDArray[np.float32]", name: str, config: Mapping[str, Any]
) -> "NDArray[np.float32]":
    """Undo llama.cpp's order of rows in q and k, where the rope's pairs are neighbours.

    Source: `LlamaModel.permute` in llama.cpp's convert_hf_to_gguf.py.
    """
    if ".attn_q." in name:
        heads = config["num_attention_heads"]
    elif ".attn_k." in name:
        heads = config["num_key_value_heads"]
    else:
        return weight
    pairs = weight.reshape(heads, -1, 2, weight.shape[-1])  # [heads, head_dim / 2, 2, hidden]
    return pairs.swapaxes(1, 2).reshape(weight.shape)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def _save(tensors: dict[str, "NDArray[np.float32]"], path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    need_room(path.parent, sum(t.nbytes for t in tensors.values()), "the converted model")
    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:
        raise ModelError(
            f"{path} cannot be written: {error}",
            "Free some space or set VOXRING_CACHE to a folder elsewhere",
        ) from error
    path.chmod(path.with_name("config.json").stat().st_mode)  # it was made for its owner alone
