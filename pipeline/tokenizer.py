"""The decode half of a language model's tokenizer: ids to bytes to text.

Shared by the voice, which hears ids one by one, and by clients, which show ids as text. It reads
`tokenizer.json` by itself, so that a program that only decodes needs no tokenizer library.

A table from id to bytes is enough for the two families that voice pipelines meet: byte-level BPE
(GPT-2, Llama 3, Qwen, SmolLM) spells each byte as one printable character; SentencePiece style
(Llama 2, Mistral, Gemma) spells a space as U+2581 and a byte as `<0xXX>`.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import ModelError
from pipeline.models import Progress, prepare_llm
from pipeline.models.json_file import read_object
from pipeline.models.progress import silent

if TYPE_CHECKING:
    from pipeline.config import Config

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SPACE_MARK = "\u2581"
_REPLACEMENT = "\ufffd"
_REMEDY = "Name a folder that holds the language model's tokenizer.json"


class Vocabulary:
    """What each id of one language model spells.

    Args:
        table: the bytes of each id; special ids spell nothing.
        strips_space: the model's decoder drops one space at the very beginning of a text.
    """

    def __init__(self, table: tuple[bytes, ...], *, strips_space: bool = False) -> None:
        self.table = table
        self.strips_space = strips_space

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """Read `tokenizer.json` of a model's folder.

        Raises:
            ModelError: it is missing, broken, or of a family whose ids have no bytes of their own.
        """
        path = folder / "tokenizer.json"
        spec = read_object(path, _REMEDY)
        try:
            return _build(spec, path)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{path} is not a tokenizer: {error!r}", _REMEDY) from error

    def spell(self, id: int) -> bytes:
        """Bytes of one id; an id outside the table spells nothing."""
        return self.table[id] if 0 <= id < len(self.table) else b""

    def decode(self, ids: Iterable[int]) -> str:
        """Text of a whole run of ids; bytes that are not UTF-8 are dropped."""
        return self.read(b"".join(map(self.spell, ids)))

    def is_silent(self, ids: Iterable[int]) -> bool:
        """Whether there is no letter and no digit in a run of ids."""
        return not any(map(str.isalnum, self.decode(ids)))

    def read(self, spelled: bytes) -> str:
        """Text of what a whole run of ids spells; bytes that are not UTF-8 are dropped."""
        text = clean(spelled.decode("utf-8", "ignore"))
        return text.removeprefix(" ") if self.strips_space else text


class ByteVocabulary(Vocabulary):
    """The vocabulary of scripted models: an id is the value of one byte of UTF-8."""

    def __init__(self) -> None:
        super().__init__(tuple(bytes([value]) for value in range(256)))


def vocabulary_for(config: "Config", progress: Progress = silent) -> Vocabulary:
    """Vocabulary of a configuration's language model; the model "bytes" spells bytes.

    Raises:
        ModelError: as `load_vocabulary`.
    """
    return load_vocabulary(config.llm.model, progress)


def load_vocabulary(reference: str, progress: Progress = silent) -> Vocabulary:
    """Vocabulary of one language model.

    Args:
        reference: `bytes`, else as for `pipeline.models.prepare_llm`.
        progress: told while the model is fetched or converted.

    Raises:
        ModelError: there is no such model, or its tokenizer cannot be used.
    """
    if reference == "bytes":
        return ByteVocabulary()
    return Vocabulary.load(prepare_llm(reference, progress))


def clean(text: str) -> str:
    """Drop U+FFFD: a model that writes it has broken bytes to show, nothing to say."""
    return text.replace(_REPLACEMENT, "")


def _build(spec: Mapping[str, Any], path: Path) -> Vocabulary:
    decoders = _decoders(spec.get("decoder"))
    kinds = {decoder["type"] for decoder in decoders}
    if not kinds & {"ByteLevel", "Metaspace", "ByteFallback"}:
        seen = ", ".join(sorted(kinds)) or "none"
        raise ModelError(
            f"{path} has the decoder {seen}; expected byte-level BPE or SentencePiece style",
            "Choose a language model with such a tokenizer",
        )
    pieces, special = _pieces(spec["model"]["vocab"]), set[int]()
    for added in spec.get("added_tokens", []):
        pieces[added["id"]] = added["content"]
        if added["special"]:
            special.add(added["id"])
    spell = _byte_level if "ByteLevel" in kinds else _sentencepiece
    size = max(pieces, default=-1) + 1
    table = tuple(b"" if id in special else spell(pieces.get(id, "")) for id in range(size))
    return Vocabulary(table, strips_space=any(map(_strips_space, decoders)))


def _decoders(decoder: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if decoder is None:
        return []
    if decoder["type"] == "Sequence":
        return [part for inner in decoder["decoders"] for part in _decoders(inner)]
    return [decoder]


def _strips_space(decoder: Mapping[str, Any]) -> bool:
    if decoder["type"] == "Strip":
        return bool(decoder["content"] == " " and decoder["start"] > 0)
    if decoder["type"] == "Metaspace":
        scheme = decoder.get("prepend_scheme")
        return bool(decoder.get("add_prefix_space", True)) if scheme is None else scheme != "never"
    return False


def _pieces(vocab: Mapping[str, int] | list[list[Any]]) -> dict[int, str]:
    """Piece of each id, from a BPE vocabulary or from a unigram list of (piece, score)."""
    if isinstance(vocab, Mapping):
        return {id: piece for piece, id in vocab.items()}
    return {id: entry[0] for id, entry in enumerate(vocab)}


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's printable character of each byte (openai/gpt-2, `bytes_to_unicode`), reversed."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [value for value in range(256) if value not in printable]
    alphabet = {chr(value): value for value in printable}
    return alphabet | {chr(0x100 + rank): value for rank, value in enumerate(others)}


_BYTE_OF = _byte_alphabet()


def _byte_level(piece: str) -> bytes:
    # An added token need not be written in the alphabet; it then stands for itself.
    if all(char in _BYTE_OF for char in piece):
        return bytes(_BYTE_OF[char] for char in piece)
    return piece.encode()


def _sentencepiece(piece: str) -> bytes:
    if match := _BYTE_PIECE.fullmatch(piece):
        return bytes([int(match[1], 16)])
    return piece.replace(_SPACE_MARK, " ").encode()
