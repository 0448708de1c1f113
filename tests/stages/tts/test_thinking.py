import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.thinking import ThinkingFilter


def spoken(pieces: list[str]) -> list[tuple[str, int]]:
    thinking = ThinkingFilter()
    out = [piece for position, text in enumerate(pieces) for piece in thinking.feed(text, position)]
    return out + thinking.flush()


def text(pieces: list[str]) -> str:
    return "".join(piece for piece, _ in spoken(pieces))


@pytest.mark.parametrize(
    "pieces",
    [
        ["<think>", "plan", "</think>", "Hi."],
        ["<th", "ink", ">plan<", "/thi", "nk>", "Hi."],
        list("<think>a < b</think>Hi."),
        ["<think></think>Hi."],
        ["<think>a</think>", "Hi", "<think>b</think>", "."],
    ],
)
def test_a_thinking_span_is_not_spoken(pieces: list[str]) -> None:
    """Fault 12."""
    assert text(pieces) == "Hi."


@pytest.mark.parametrize("tail", ["", "more", "</thin", "</think"])
def test_a_span_that_is_never_closed_silences_the_rest(tail: str) -> None:
    assert text(["Hi. ", "<think>", "plan", tail]) == "Hi. "


def test_what_only_looks_like_a_tag_is_spoken_where_it_was() -> None:
    assert spoken(["a <", "th", "an"]) == [
        *[("a", 0), (" ", 0), ("<", 0)],
        *[("t", 1), ("h", 1)],
        *[("a", 2), ("n", 2)],
    ]
    assert text(["<<think>x</think>y"]) == "<y"
    assert text(["a <thin"]) == "a <thin"


@given(st.lists(st.text(st.sampled_from("<>/think ab"), max_size=9)))
def test_any_split_gives_the_same_text(pieces: list[str]) -> None:
    assert text(pieces) == text(["".join(pieces)])
