import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.markup import MarkupFilter


def visible(text: str) -> str:
    markup = MarkupFilter()
    shown = [piece for position, char in enumerate(text) for piece in markup.feed(char, position)]
    shown += markup.flush()
    positions = [position for _, position in shown]
    assert positions == sorted(positions)
    return "".join(char for char, _ in shown)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain (text) [x] a", "plain (text) [x] a"),
        ("a [link](http://x.y/z) b", "a [link] b"),
        ("![image](a.png)", "![image]"),
        ("[open](http", "[open]"),
        ("[open](http\nb", "[open]\nb"),
        ("so `code` it", "so `code` it"),
        ("``x`", "``x`"),
        ("a\n```py\nx = [1](2)\n```\nb", "a\n\n\nb"),
        ("a ```never closed\nb", "a "),
        ("ends in ``", "ends in ``"),
    ],
)
def test_code_and_targets_are_not_shown(text: str, left: str) -> None:
    assert visible(text) == left


def test_a_target_without_an_end_is_given_up() -> None:
    assert visible("[x](" + "y" * 3000).endswith("yyy")


@given(st.text(st.sampled_from("ab `[](\n")))
def test_nothing_is_made_up(text: str) -> None:
    assert len(visible(text)) <= len(text)
