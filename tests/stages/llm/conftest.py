import os
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from pipeline.models import prepare_onnx

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def byte_tokenizer(template):
    """A tokenizer whose ids are bytes, and three special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({piece: id for id, piece in enumerate(alphabet)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(
        [AddedToken(t, special=True) for t in ("<s>", "<|im_start|>", "<|im_end|>")]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, chat_template=template, bos_token="<s>", eos_token="<|im_end|>"
    )


@pytest.fixture(scope="session")
def tiny_chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random chat model of two layers."""
    folder = tmp_path_factory.mktemp("models") / "tiny-chat"
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=259,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=128,
        initializer_range=0.5,
        bos_token_id=256,
        eos_token_id=258,
        tie_word_embeddings=True,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    byte_tokenizer(CHATML).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_onnx(tiny_chat: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, built for ONNX Runtime by the real builder."""
    cache = os.environ.get("VOXRING_CACHE")
    os.environ["VOXRING_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    try:
        return prepare_onnx(str(tiny_chat), "none")
    finally:
        del os.environ["VOXRING_CACHE"]
        if cache is not None:
            os.environ["VOXRING_CACHE"] = cache
