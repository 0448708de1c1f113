"""From the words that Whisper heard to the language model's own ids."""

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ModelError
from stages.asr.splits import splits

if TYPE_CHECKING:
    from tokenizers import Tokenizer  # a scripted stage runs where it is not installed

    from pipeline.config import Config
    from pipeline.models import Progress

Ids = NDArray[np.int32]


class Bridge(Protocol):
    """Turns text into the ids of one language model.

    Attributes:
        splits: text that is cut before a space gives the same ids in parts as in one piece.
    """

    splits: bool

    def encode(self, text: str) -> Ids:
        """Give the ids, int32 [n], of text as it is, leading space included; no special ones."""
        ...


class ByteBridge:
    """The bridge of scripted models: an id is the value of one byte of UTF-8."""

    splits = True

    def encode(self, text: str) -> Ids:
        """Give one id a byte."""
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)


class TokenizerBridge:
    """The bridge of a real model, by its `tokenizer.json`.

    Whoever says "<|im_end|>" aloud must not end the prompt: text that looks like a token with a
    meaning of its own stays text. It is the same for such tokens that the tokenizer does not call
    special (`<think>`), and for vocabularies that hold them as ordinary pieces (`</s>`).
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        tokenizer.encode_special_tokens = True  # look-alikes are spelled out
        tokenizer.no_truncation()  # both may be set in the file
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.splits = splits(tokenizer)
        added = tokenizer.get_added_tokens_decoder()
        # runs of spaces are added tokens in some models, and are ordinary text
        reserved = {n: token.content for n, token in added.items() if token.content.strip()}
        self._reserved = frozenset(reserved)
        longest_first = sorted(reserved.values(), key=len, reverse=True)
        self._lookalike = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    @classmethod
    def load(cls, folder: Path) -> "TokenizerBridge":
        """Read `tokenizer.json` of a model's folder.

        Raises:
            ModelError: it is missing or broken.
        """
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json"
        try:
            return cls(Tokenizer.from_file(str(path)))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(
                f"{path} cannot be read as a tokenizer: {error}",
                "Name a folder that holds the language model's tokenizer.json",
            ) from error

    def encode(self, text: str) -> Ids:
        """Give what the model's tokenizer makes of the text, look-alikes spelled out."""
        ids = self._encode(text)
        if not self._reserved.isdisjoint(ids):
            ids = [n for part in self._apart(text) for n in self._encode(part)]
        # what is still reserved is the unknown token: it says nothing
        return np.array([n for n in ids if n not in self._reserved], np.int32)

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _apart(self, text: str) -> list[str]:
        """Cut after the first character of each look-alike, so that no part holds a whole one."""
        cuts = [0, *(match.start() + 1 for match in self._lookalike.finditer(text)), len(text)]
        return [text[start:end] for start, end in pairwise(cuts)]


def bridge_for(config: "Config", progress: "Progress") -> Bridge:
    """Give the bridge to the language model of a configuration, fetching its tokenizer if needed.

    Raises:
        ModelError: it cannot be fetched or read.
    """
    if config.llm.model == "bytes":
        return ByteBridge()
    from pipeline.models import prepare_llm

    return TokenizerBridge.load(prepare_llm(config.llm.model, progress))
