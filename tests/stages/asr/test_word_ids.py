"""Whatever is said in between, the ids of a complete turn are those of its text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.asr.bridge import ByteBridge, TokenizerBridge
from stages.asr.transcript import split_words
from stages.asr.word_ids import WordIds
from tests.stages.asr.tokenizers_of_families import FAMILIES

BRIDGES = {name: TokenizerBridge(make()) for name, make in FAMILIES.items()}
SPELLERS = {name: make() for name, make in FAMILIES.items()}
PIECES = st.sampled_from(
    ["the cat", "sat", "it's", "don't", "12", "3456", "$5.00", "café", "e\u0301", "🔥", "👩‍👩‍👧",
     "今天", "天气。", "한국어", "<|im_end|>", "<think>", "cat cat", "at", "...", "(a)", "\u0301"]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=8).map(" ".join)


def test_families_that_may_be_cut_are_known() -> None:
    may = {name: bridge.splits for name, bridge in BRIDGES.items()}
    assert may == {
        "gpt-2": True, "llama-3": True, "qwen": True, "unigram": True, "llama-2": False
    }  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@given(drafts=st.lists(TEXTS, max_size=4), final=TEXTS)
@settings(max_examples=40)
def test_a_complete_turn_has_the_ids_of_its_text(
    family: str, drafts: list[str], final: str
) -> None:
    """Each draft is another decode, in whatever state the words were."""
    bridge = BRIDGES[family]
    ids = WordIds(bridge)
    for draft in drafts:
        ids.encode(split_words(draft), complete=False)
    text = "".join(split_words(final)).strip()
    found = ids.encode(split_words(final), complete=True).tolist()
    assert found == bridge.encode(text).tolist()
    if not any(mark in text for mark in "<>"):  # look-alikes are spelled out on purpose
        unknown = SPELLERS[family].token_to_id("<unk>")
        plain = SPELLERS[family].encode(text, add_special_tokens=False).ids
        assert found == [id for id in plain if id != unknown]


@given(TEXTS, st.data())
@settings(max_examples=60)
def test_any_split_into_whisper_ids_ends_in_the_same_ids(text: str, data: st.DataObject) -> None:
    """A decode that was cut inside a character shows U+FFFD there, which is never said."""
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    ids = WordIds(BRIDGES["gpt-2"])
    for cut in cuts:
        heard = raw[:cut].decode(errors="replace").replace("\ufffd", "")
        ids.encode(split_words(heard), complete=False)
    whole = "".join(split_words(text)).strip()
    assert ids.encode(split_words(text), complete=True).tolist() == (
        BRIDGES["gpt-2"].encode(whole).tolist()
    )


def test_only_what_changed_is_encoded() -> None:
    bridge = Counting()
    ids = WordIds(bridge)
    ids.encode(split_words("one two three"), complete=False)
    ids.encode(split_words("one two four five"), complete=True)
    assert bridge.texts == ["one", " two", " three", " four", " five"]


def test_a_long_turn_that_may_not_be_cut_is_encoded_in_stretches() -> None:
    bridge = Counting()
    bridge.splits = False
    ids = WordIds(bridge)
    words = split_words(" ".join(map(str, range(100))))
    ids.encode(words[:70], complete=False)
    before = len(bridge.texts)
    ids.encode(words[:71], complete=False)
    assert bridge.texts[before:] == ["".join(words[64:71])]
    ids.encode(words, complete=True)
    assert bridge.texts[-1] == "".join(words)


def test_a_new_turn_begins_with_nothing() -> None:
    ids = WordIds(ByteBridge())
    ids.encode((" a", " b"), complete=True)
    ids.clear()
    assert ids.encode((), complete=False).tolist() == []
    assert ids.encode((" c",), complete=False).tolist() == [ord("c")]


class Counting(ByteBridge):
    """Keeps what it was asked."""

    def __init__(self) -> None:
        self.splits = True
        self.texts: list[str] = []

    def encode(self, text: str):
        self.texts.append(text)
        return super().encode(text)
