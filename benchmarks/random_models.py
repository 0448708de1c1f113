"""Language models with random weights, in the shapes of well-known ones: speed needs no others."""

from typing import Any

import torch
import transformers

from stages.llm.attention import register

SHAPES: dict[str, dict[str, Any]] = {
    "135m": {
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "vocab_size": 49_152,
        "tie_word_embeddings": True,
    },
    "1b": {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128_256,
        "tie_word_embeddings": True,
    },
    "8b": {
        "hidden_size": 4096,
        "intermediate_size": 14_336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128_256,
        "tie_word_embeddings": False,
    },
}


def random_model(
    shape: str, device: str, dtype: torch.dtype, *, positions: int = 16_384, **changes: Any
) -> Any:
    """A model in evaluation mode.

    Args:
        shape: `135m`, `1b` or `8b`, of Llama 3.
        positions: that it can hold.
        changes: to the configuration.
    """
    config = transformers.LlamaConfig(
        **(SHAPES[shape] | changes),
        max_position_embeddings=positions,
        rope_parameters={"rope_type": "default", "rope_theta": 500_000.0},
        eos_token_id=None,
        bos_token_id=1,
        pad_token_id=0,
        attention_bias=False,
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            torch.manual_seed(5)
            make: Any = transformers.AutoModelForCausalLM.from_config
            model = make(config, attn_implementation=register())
    finally:
        torch.set_default_dtype(before)
    return model.to(device).eval()
