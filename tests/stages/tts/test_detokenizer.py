import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.tokenizer import ByteVocabulary, Vocabulary, load_vocabulary
from stages.tts.detokenizer import Detokenizer

MIXED = "ok 🔥 한국어 👩\u200d👩\u200d👧 é"


def pieces(ids: list[int], vocabulary: Vocabulary) -> list[str]:
    detokenizer = Detokenizer(vocabulary)
    return [detokenizer.feed(id) for id in ids]


def test_a_character_comes_with_the_id_that_completes_it() -> None:
    got = pieces(list("a🔥é".encode()), ByteVocabulary())
    assert got == ["a", "", "", "", "🔥", "", "é"]


@given(st.binary())
def test_any_bytes_give_what_decoding_all_of_them_gives(data: bytes) -> None:
    vocabulary = ByteVocabulary()
    joined = "".join(pieces(list(data), vocabulary))
    assert joined == vocabulary.decode(data)
    assert "\ufffd" not in joined


def test_a_broken_tail_is_never_heard() -> None:
    assert "".join(pieces([*b"ok ", *"🔥".encode()[:3]], ByteVocabulary())) == "ok "


@given(st.lists(st.sampled_from([b" ", b"", b" a", b"b", b"\xe2", b"\x96\x81"]), max_size=6))
def test_the_first_space_is_stripped_once(table: list[bytes]) -> None:
    vocabulary = Vocabulary(tuple(table), strips_space=True)
    ids = list(range(len(table)))
    assert "".join(pieces(ids, vocabulary)) == vocabulary.decode(ids)


@pytest.mark.models
@pytest.mark.parametrize("text", [MIXED, "Hello, world!\n\n* one\t* two", "今天天气真好。"])
def test_ids_of_smollm2_one_by_one_give_the_text(text: str) -> None:
    from tokenizers import Tokenizer

    from pipeline.models import prepare_llm

    reference = "bundle:smollm2-135m-instruct"
    tokenizer = Tokenizer.from_file(str(prepare_llm(reference) / "tokenizer.json"))
    vocabulary = load_vocabulary(reference)
    ids = tokenizer.encode(text).ids
    got = pieces(ids, vocabulary)
    assert "".join(got) == tokenizer.decode(ids) == text
    assert not any("\ufffd" in piece for piece in got)
    assert "".join(pieces(ids[:-1], vocabulary)) == vocabulary.decode(ids[:-1])
