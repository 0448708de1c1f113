"""Small tokenizers built like those of well-known model families."""

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CORPUS = ["the cat sat on the mat, didn't it?", "is it safe to swim in the Seine", "12 345 dogs"]
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA_3.replace("{1,3}", "")


def byte_level() -> Tokenizer:
    """GPT-2 and SmolLM2 style; `<think>` is an added token that is not special, as in Qwen."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    tokenizer.add_tokens([AddedToken("<think>", special=False, normalized=False)])
    return tokenizer


def unigram() -> Tokenizer:
    """Llama-2 style: control pieces stand in the vocabulary like words."""
    letters = [(letter, -5.0) for letter in "abcdefghijklmnopqrstuvwxyz</>'"]
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("▁", -3.0), ("▁cat", -2.0), *letters]
    tokenizer = Tokenizer(models.Unigram(pieces, 0, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


def by_pattern(pattern: str, normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    """Llama 3 (digits by three) and Qwen (one by one, normalised) style."""
    tokenizer = byte_level()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    if normalizer:
        tokenizer.normalizer = normalizer
    return tokenizer


def sentencepiece_bpe() -> Tokenizer:
    """Llama 2 style: no pre-tokenizer, so a merge may reach across a space ("t▁t")."""
    letters = [chr(n) for n in range(33, 127)]
    merges = [("t", "▁"), ("t▁", "t"), ("▁", "c"), ("a", "t"), ("▁c", "at"), ("s", "▁")]
    pieces = ["<unk>", "▁", *letters, *(f"<0x{n:02X}>" for n in range(256))]
    pieces += [one + other for one, other in merges]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    return tokenizer


FAMILIES = {
    "gpt-2": byte_level,
    "llama-3": lambda: by_pattern(LLAMA_3),
    "qwen": lambda: by_pattern(QWEN, normalizers.NFC()),
    "unigram": unigram,
    "llama-2": sentencepiece_bpe,
}
