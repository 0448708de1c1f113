"""Tiny random language models."""

import numpy as np
import torch
import transformers

from stages.llm.attention import register

VOCABULARY = 97


def tiny(kind="llama", **options):
    torch.manual_seed(7)
    config = transformers.AutoConfig.for_model(
        kind,
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=128,
        initializer_range=0.5,
        bos_token_id=1,
        eos_token_id=None,
        pad_token_id=0,
        **options,
    )
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=register())
    return model.eval()


def ids(*values):
    return np.array(values, np.int32)
