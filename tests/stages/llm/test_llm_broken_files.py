"""A model whose files are broken: one line that names them, from everybody who reads them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import ModelError
from pipeline.models.onnx_build import _layers
from pipeline.tokenizer import Vocabulary
from stages.llm.chat_tokenizer import ChatTokenizer
from stages.llm.template import ChatTemplate
from stages.llm.transformers_engine import load_engine

Read = Callable[[Path], Any]
READERS: dict[str, Read] = {
    "builder": _layers,
    "vocabulary": Vocabulary.load,
    "tokenizer": lambda folder: ChatTemplate(ChatTokenizer.load(folder), (), folder.name),
    "template": lambda folder: ChatTemplate.load(folder, ()),
    "engine": lambda folder: load_engine(folder, context=64),
}
NUMBER, CUT, BYTES = b"3", b'{"model', b"\xff\xfe"
BROKEN = {  # who must refuse it; the others do not read it, or can do without
    ("config.json", CUT): {"builder", "template", "engine"},
    ("config.json", NUMBER): {"builder", "template", "engine"},
    ("config.json", BYTES): {"builder", "engine"},
    ("config.json", None): {"builder", "engine"},
    ("generation_config.json", NUMBER): {"engine"},
    ("model.safetensors", CUT): {"engine"},
    ("tokenizer.json", CUT): {"vocabulary", "tokenizer", "template"},
    ("tokenizer.json", NUMBER): {"vocabulary", "tokenizer", "template"},
    ("tokenizer.json", b"[" * 100_000): {"vocabulary", "tokenizer", "template"},
    ("tokenizer_config.json", CUT): {"tokenizer", "template"},
    ("tokenizer_config.json", NUMBER): {"tokenizer", "template"},
}


@pytest.mark.parametrize(("name", "content"), BROKEN)
def test_a_broken_file_is_one_line_with_a_remedy(
    tiny_chat: Path, tmp_path: Path, name: str, content: bytes | None
) -> None:
    folder = shutil.copytree(tiny_chat, tmp_path / "model")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    errors = {reader: refusal(read, folder) for reader, read in READERS.items()}
    assert {reader for reader, error in errors.items() if error} >= BROKEN[name, content]
    for error in filter(None, errors.values()):
        assert "\n" not in str(error)
        assert str(folder) in error.message
        assert error.remedy


def refusal(read: Read, folder: Path) -> ModelError | None:
    try:
        read(folder)
    except ModelError as error:
        return error
    return None
