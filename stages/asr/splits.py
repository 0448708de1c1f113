"""Whether a tokenizer may be given a text in parts: decided when it is loaded, by looking at it."""

import json
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LOCAL = {"NFC", "NFD", "Lowercase", "StripAccents", "BertNormalizer"}
"""Normalisers that never reach across a space."""
_PROBES = (
    "word", "Word", "WORD", "it's", "don't", "I'll", "a", "12", "3456", "3.5", "1,000", "x2", "2x",
    "end.", "end?!", "...", "-", "--", "(a)", '"a"', "'a'", "a,", "$5", "50%", "C++", "a_b", "@a",
    "é", "naïve", "über", "привет", "今天天气", "日本語。", "한국어", "สวัสดี", "مرحبا", "नमस्ते",
    "🔥", "👩‍👩‍👧", "e\u0301", "\u0301", "½", "²", "#", "/", "://", "a/b", "<a>", "<|a|>", "[a]",
)  # fmt: skip


def splits(tokenizer: "Tokenizer") -> bool:
    """Tell whether text cut before a space gives the same ids in parts as in one piece.

    It does where merges cannot cross the cut: the normaliser works in place, and the pre-tokenizer
    always begins a new piece at the space. The first is read from the tokenizer's description; the
    second is tried on each pair of words of many kinds.
    """
    described = json.loads(tokenizer.to_str())
    return (
        described["pre_tokenizer"] is not None
        and not described["model"].get("dropout")
        and _is_local(described["normalizer"])
        and not any(_has_inner_space(token["content"]) for token in described["added_tokens"])
        and all(_joins(tokenizer, one, other) for one, other in product(_PROBES, _PROBES))
    )


def _is_local(normalizer: dict[str, Any] | None) -> bool:
    if normalizer is None:
        return True
    if normalizer["type"] == "Sequence":
        return all(map(_is_local, normalizer["normalizers"]))
    return normalizer["type"] in _LOCAL


def _has_inner_space(token: str) -> bool:
    return " " in token.strip(" ")


def _joins(tokenizer: "Tokenizer", one: str, other: str) -> bool:
    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return found

    # the first is cut off as well: a turn's first word has no space before it
    return ids(f"{one} {other} {one}") == ids(one) + ids(f" {other}") + ids(f" {one}")
