import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from pipeline.errors import ModelError
from pipeline.models import prepare_llm
from pipeline.tokenizer import ByteVocabulary, Vocabulary, load_vocabulary

TEXT = ["the cat sat on the mat", "한국어 🔥 é", "the other cat, the other mat", "a\n\n  b"]


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.add_tokens(["<tool>", "a tool"])
    return tokenizer


def sentencepiece() -> Tokenizer:
    pieces = ["<unk>", "<s>", *(f"<0x{value:02X}>" for value in range(256)), *"▁abcdet", "▁a", "ca"]
    vocab = {piece: id for id, piece in enumerate(pieces)}
    merges = [("▁", "a"), ("c", "a")]
    tokenizer = Tokenizer(models.BPE(vocab, merges, byte_fallback=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1, right=0),
        ]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>"])
    return tokenizer


def metaspace() -> Tokenizer:
    pieces = [("<unk>", 0.0), ("▁", -1.0), ("▁the", -1.0), *((char, -2.0) for char in "thecat")]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizers")


def load(tokenizer: Tokenizer, folder: Path) -> Vocabulary:
    tokenizer.save(str(folder / "tokenizer.json"))
    return Vocabulary.load(folder)


@pytest.mark.parametrize("make", [byte_level, sentencepiece])
def test_decodes_as_the_tokenizer_does(make, folder: Path) -> None:
    tokenizer = make()
    vocabulary = load(tokenizer, folder)

    @settings(deadline=None)
    @given(st.text().filter(lambda text: "\ufffd" not in text and "▁" not in text))
    def check(text: str) -> None:
        ids = tokenizer.encode(text).ids
        # A vocabulary may lack a byte, and then the tokenizer shows U+FFFD.
        assert vocabulary.decode(ids) == tokenizer.decode(ids).replace("\ufffd", "")

    check()


def test_metaspace_strips_the_first_space(folder: Path) -> None:
    tokenizer = metaspace()
    vocabulary = load(tokenizer, folder)
    ids = tokenizer.encode("the cat the").ids
    assert vocabulary.decode(ids) == tokenizer.decode(ids) == "the cat the"


def test_special_ids_spell_nothing_and_added_ones_spell_themselves(folder: Path) -> None:
    tokenizer = byte_level()
    vocabulary = load(tokenizer, folder)
    ids = [tokenizer.token_to_id(piece) for piece in ("<|im_end|>", "<tool>", "a tool")]
    assert [vocabulary.spell(id) for id in ids] == [b"", b"<tool>", b"a tool"]


def test_an_id_outside_the_table_spells_nothing() -> None:
    assert ByteVocabulary().decode([-1, 104, 256, 105, 10**6]) == "hi"


def test_broken_bytes_are_dropped() -> None:
    assert ByteVocabulary().decode([*b"a", 0xF0, 0x9F, *b"b", *"\ufffd".encode(), 0xE2]) == "ab"


def test_the_reference_bytes_names_the_scripted_vocabulary() -> None:
    assert isinstance(load_vocabulary("bytes"), ByteVocabulary)


def test_another_reference_names_a_language_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    table = load(byte_level(), tmp_path).table
    assert load_vocabulary(str(tmp_path)).table == table
    with pytest.raises(ModelError, match="holds no language model"):
        load_vocabulary(str(tmp_path.parent))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("{", "cannot be read"),
        ("[]", "holds a list, expected an object"),
        ('{"decoder": {"type": "ByteLevel"}}', "is not a tokenizer"),
        ('{"decoder": {"type": "WordPiece"}}', "has the decoder WordPiece"),
        ("{}", "has the decoder none"),
    ],
)
def test_a_folder_without_a_usable_tokenizer_is_named(
    tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match=message) as caught:
        Vocabulary.load(tmp_path)
    assert "tokenizer.json" in caught.value.message
    assert caught.value.remedy


def test_a_gap_in_the_ids_spells_nothing(tmp_path: Path) -> None:
    spec = {"decoder": {"type": "ByteLevel"}, "model": {"vocab": {"a": 0, "b": 2}}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    assert Vocabulary.load(tmp_path).table == (b"a", b"", b"b")


@pytest.mark.models
def test_decodes_as_smollm2_does() -> None:
    reference = "bundle:smollm2-135m-instruct"
    tokenizer = Tokenizer.from_file(str(prepare_llm(reference) / "tokenizer.json"))
    vocabulary = load_vocabulary(reference)

    @settings(deadline=None)
    @given(st.text().filter(lambda text: "\ufffd" not in text))
    def check(text: str) -> None:
        ids = tokenizer.encode(text).ids
        # A vocabulary may lack a byte, and then the tokenizer shows U+FFFD.
        assert vocabulary.decode(ids) == tokenizer.decode(ids).replace("\ufffd", "")

    check()
