"""The tokenizer inside a GGUF file, as the files that transformers reads."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_CONTROL, _USER_DEFINED = 3, 4  # values of tokenizer.ggml.token_type

_SPECIAL = {
    "bos_token": "tokenizer.ggml.bos_token_id",
    "eos_token": "tokenizer.ggml.eos_token_id",
    "unk_token": "tokenizer.ggml.unknown_token_id",
    "pad_token": "tokenizer.ggml.padding_token_id",
}


def write_tokenizer(fields: Mapping[str, Any], folder: Path, *, length: int) -> None:
    """Write tokenizer.json, tokenizer_config.json and chat_template.jinja.

    Args:
        fields: the GGUF file's metadata.
        folder: where to.
        length: the longest text that the model takes, in tokens.

    Raises:
        ValueError: a kind of tokenizer that is not known to come out exact.
        KeyError: a field is missing.
    """
    tokens = fields["tokenizer.ggml.tokens"]
    special = {role: tokens[fields[key]] for role, key in _SPECIAL.items() if key in fields}
    _tokenizer(fields).save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": length,
        **special,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    if template := fields.get("tokenizer.chat_template"):
        (folder / "chat_template.jinja").write_text(template)


def _tokenizer(fields: Mapping[str, Any]) -> Any:
    from tokenizers import Tokenizer, decoders, models

    if (kind := fields["tokenizer.ggml.model"]) != "gpt2":
        raise ValueError(f"its tokenizer is '{kind}', expected byte-level BPE ('gpt2')")
    if fields.get("tokenizer.ggml.add_bos_token"):
        raise ValueError("its tokenizer begins each text with a token, which is not known here")
    tokens = fields["tokenizer.ggml.tokens"]
    merges = [(a, b) for a, b in (line.split(" ") for line in fields["tokenizer.ggml.merges"])]
    tokenizer = Tokenizer(models.BPE({token: id for id, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = _cut(fields["tokenizer.ggml.pre"])
    tokenizer.decoder = decoders.ByteLevel()
    types = list(zip(tokens, fields["tokenizer.ggml.token_type"], strict=True))
    tokenizer.add_special_tokens([_whole(token) for token, type in types if type == _CONTROL])
    tokenizer.add_tokens([_whole(token) for token, type in types if type == _USER_DEFINED])
    return tokenizer


def _whole(token: str) -> Any:
    """Return a token that is found in text before the text is cut."""
    from tokenizers import AddedToken

    return AddedToken(token, normalized=False)


def _cut(name: str) -> Any:
    """Return the rule that cuts text before tokens are merged, by its name in llama.cpp.

    Source: `llm_tokenizer_bpe` in llama.cpp's llama-vocab.cpp.
    """
    if name not in _CUTS:
        raise ValueError(f"its text is cut as '{name}', known are {', '.join(_CUTS)}")
    return _CUTS[name]()


def _gpt2() -> Any:
    from tokenizers.pre_tokenizers import ByteLevel

    return ByteLevel(add_prefix_space=False)


def _digits_alone() -> Any:
    """Each digit alone, then GPT-2's rule on what is between.

    NOTE: transformers 5.24 reads such files with GPT-2's rule only, so that two blanks or newlines
    before a digit get other ids than those the model was trained on.
    """
    from tokenizers.pre_tokenizers import Digits, Sequence

    return Sequence([Digits(individual_digits=True), _gpt2()])


_CUTS: dict[str, Callable[[], Any]] = {"gpt-2": _gpt2, "smollm": _digits_alone}
