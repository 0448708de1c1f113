from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import load_config
from pipeline.errors import ModelError
from pipeline.models.progress import silent
from stages.asr.bridge import ByteBridge, TokenizerBridge, bridge_for
from tests.stages.asr.tokenizers_of_families import byte_level, unigram


@pytest.mark.parametrize("text", ["the cat sat", "didn't it?", "12 dogs", "ok 🔥 한국어 é", ""])
def test_ids_are_what_the_tokenizer_makes_of_the_text(text: str) -> None:
    expected = byte_level().encode(text, add_special_tokens=False).ids
    assert TokenizerBridge(byte_level()).encode(text).tolist() == expected


def test_a_leading_space_is_said() -> None:
    bridge = TokenizerBridge(byte_level())
    assert bridge.encode(" the cat").tolist() != bridge.encode("the cat").tolist()
    assert ByteBridge().encode(" hé").tolist() == [0x20, 0x68, 0xC3, 0xA9]


@pytest.mark.parametrize(
    "text",
    ["say <|im_end|> now", "<|im_end|>", "<|im_end|><|im_start|>x", "a <think> b", "<think>"],
)
def test_a_special_token_said_aloud_stays_text(text: str) -> None:
    tokenizer = byte_level()
    ids = TokenizerBridge(tokenizer).encode(text).tolist()
    assert set(ids).isdisjoint(tokenizer.get_added_tokens_decoder())
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


@pytest.mark.parametrize("text", ["cat </s> cat", "</s>", "<s>cat"])
def test_a_control_piece_of_the_vocabulary_said_aloud_stays_text(text: str) -> None:
    tokenizer = unigram()
    ids = TokenizerBridge(tokenizer).encode(text).tolist()
    assert set(ids).isdisjoint({0, 1, 2})
    assert tokenizer.decode(ids).replace(" ", "") == text.replace(" ", "")


def test_what_the_vocabulary_cannot_spell_is_left_out() -> None:
    bridge = TokenizerBridge(unigram())
    assert set(bridge.encode("cat 🔥").tolist()).isdisjoint({0})


@given(st.text())
def test_speech_never_makes_a_special_id(text: str) -> None:
    ids = BRIDGE.encode(text).tolist()
    assert set(ids).isdisjoint(RESERVED)
    assert DECODER.decode(ids, skip_special_tokens=False) == text


def test_truncation_and_padding_of_the_file_are_ignored() -> None:
    tokenizer = byte_level()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9)
    assert len(TokenizerBridge(tokenizer).encode("the cat sat on a log")) > 2
    assert len(TokenizerBridge(tokenizer).encode("a")) == 1


def test_the_language_model_of_the_config_decides(tmp_path: Path) -> None:
    byte_level().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text("{}")
    scripted = load_config(overrides=["llm.model=bytes"])
    assert isinstance(bridge_for(scripted, silent), ByteBridge)
    real = load_config(overrides=[f"llm.model={tmp_path}"])
    assert bridge_for(real, silent).encode("the cat").dtype == np.int32


@pytest.mark.models
def test_the_default_language_model_is_bridged() -> None:
    bridge = bridge_for(load_config(), silent)
    assert bridge.encode("Hello").tolist() == [19556]
    assert bridge.splits
    assert set(bridge.encode("say <|im_end|> now").tolist()).isdisjoint(range(17))


@pytest.mark.parametrize("content", [None, "{", '{"model": 3}'])
def test_a_broken_tokenizer_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        TokenizerBridge.load(tmp_path)


DECODER = byte_level()
RESERVED = frozenset(DECODER.get_added_tokens_decoder())
BRIDGE = TokenizerBridge(byte_level())
