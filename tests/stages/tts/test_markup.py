import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.tts.markup import MarkupFilter


def shown(text: str, *, thinking: bool = True) -> list[tuple[str, int]]:
    markup = MarkupFilter(thinking=thinking)
    found = [piece for position, char in enumerate(text) for piece in markup.feed(char, position)]
    return found + markup.flush()


def visible(text: str, *, thinking: bool = True) -> str:
    found = shown(text, thinking=thinking)
    positions = [position for _, position in found]
    assert positions == sorted(positions)
    return "".join(char for char, _ in found)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain (text) [x] a", "plain (text) [x] a"),
        ("a [link](http://x.y/z) b", "a [link] b"),
        ("a [link](x.y/A_(b)) b", "a [link] b"),
        ("![image](a.png)", "![image]"),
        ("[open](http", "[open]"),
        ("[open](http\nb", "[open]\nb"),
        ("5 \\* 6 \\a \\", "5 * 6 \\a \\"),
    ],
)
def test_targets_of_links_are_not_shown(text: str, left: str) -> None:
    assert visible(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("so `code` it", "so code it"),
        ("``a`b`` c", "ab c"),
        ("ends in ``", "ends in "),
        ("so `<b> a|b` it", "so <b> a|b it"),
        ("one ` tick\n<b>a</b>", "one  tick\na"),
        ("Use ``` to open. And", "Use  to open. And"),
        ("Use ```code``` here", "Use code here"),
        ("```ls -l``` lists", "ls -l lists"),
        ("ends ```\nand goes on", "ends \nand goes on"),
        ("so ~5 ~~no~~ it", "so ~5 ~~no~~ it"),
    ],
)
def test_code_inside_a_line_is_shown(text: str, left: str) -> None:
    assert visible(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n```py\nx = [1](2)\n```\nb", "a\n\nb"),
        ("a\n~~~\n```\nx\n~~~\nb", "a\n\nb"),
        ("````md\n```py\nx\n```\n````  \nb", "\nb"),
        ("  ```\nx```\nb", "  \nb"),
        ("Run: ```bash\nls\n```\nb", "Run: \nb"),
        ("> ```\nx\n```\nb", "> \nb"),
        ("```\n<think>\n```\nb", "\nb"),
        ("a\n```never closed\nb", "a\n\n"),
        ("a\n```py", "a\n\n"),
    ],
)
def test_code_blocks_are_not_shown(text: str, left: str) -> None:
    assert visible(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "<think>plan</think>Hi.",
        "<think>a < b</think>Hi.",
        "<think>a </th </think>Hi.",
        "<think></think>Hi.",
        "<think>a</think>Hi<think>b</think>.",
        "Hi.<think>never closed",
        "Hi.<think>never closed </thin",
        '<tool_call>{"name": "<b>"}</tool_call>Hi.',
        "Hi<tool_response>x</tool_response>.",
        "Hi.<!-- a > b -->",
    ],
)
def test_thoughts_and_calls_are_not_shown(text: str) -> None:
    """Fault 12."""
    assert visible(text) == "Hi."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<b>Bold</b> text", "Bold text"),
        ("a<br>b<br/>c<p>d", "a\nb\nc\nd"),
        ("H<sub>2</sub>O", "H2O"),
        ("""<a href="x.y" title='b > c'>d</a>""", "d"),
        ("</think>so", "so"),
        ("a < b <c and d> <", "a < b <c and d> <"),
        ("<<b>x<3", "<x<3"),
        ("List<String> <https://a.bc>", "List<String> <https://a.bc>"),
        ("a <thin", "a <thin"),
        ("a <b\nc>", "a <b\nc>"),
    ],
)
def test_tags_are_dropped_and_their_content_is_shown(text: str, left: str) -> None:
    assert visible(text) == left


def test_thoughts_are_shown_if_they_are_wanted() -> None:
    assert visible("<think>a</think>b", thinking=False) == "ab"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("| a | b |\n|---|:-:|\n|c|d|", " a , b  \n ---, :-: \n c, d "),
        ("a | b\n", "a , b\n"),
        ("a |\n", "a  \n"),
    ],
)
def test_cells_are_parted_by_commas(text: str, left: str) -> None:
    assert visible(text) == left


@pytest.mark.parametrize(
    "opening",
    ["[x](", "<tool_call>{", "<!--", "<a href='", "a ```", "`", "<b ", "<", "a | ", "~~~~x"],
)
def test_what_is_never_closed_silences_a_bounded_stretch(opening: str) -> None:
    assert visible(opening + "y" * 5000).endswith("yyy")


def test_what_only_looks_like_a_tag_is_shown_where_it_was() -> None:
    assert shown("a <x!")[2:] == [("<", 2), ("x", 3), ("!", 4)]


MARKED = st.lists(st.sampled_from([*"ab `~[](\n<>/=\"'|\\!-", "<b>", "```\n"])).map("".join)


@given(MARKED)
def test_nothing_is_made_up(text: str) -> None:
    assert len(visible(text)) <= len(text) + text.count("|")


@given(MARKED)
def test_little_is_held_back(text: str) -> None:
    markup = MarkupFilter()
    for position, char in enumerate(text * 3):
        markup.feed(char, position)
        assert len(markup._held) <= 320
