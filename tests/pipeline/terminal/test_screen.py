"""What is seen, at several widths."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, RenderableType

from pipeline.floor import Floor
from pipeline.terminal.conversation import Running
from pipeline.terminal.display import Picture, PlainLines, display_for
from pipeline.terminal.entry import Entry, Exchange, Note
from pipeline.terminal.meter import bar
from pipeline.terminal.paint import paint
from pipeline.terminal.plain import lines
from pipeline.terminal.screen import Moment, Screen
from pipeline.terminal.words import clean
from stages.outcome import Outcome

TALK = Exchange(
    1,
    "What do plants need to grow?",
    "Plants need light, water, nutrients, and proper soil.",
    Outcome.ANSWERED,
    "304 ms",
    "silence 60 · words 169 · first id 210 · first words 240 · turn over 252 · sound 295",
)
CUT = Exchange(2, "Tell me more.", "They also", Outcome.INTERRUPTED, "310 ms", "words 170")
LIVE = (
    Running(1, "What do plants need to grow?", True, "Plants need light, water,"),
    Running(2, "And"),
)


class Tty(io.TextIOWrapper):
    """What was written to a terminal."""

    def isatty(self) -> bool:
        return True


def console(width: int = 80, height: int = 24, encoding: str = "utf-8") -> Console:
    file = Tty(io.BytesIO(), encoding=encoding, newline="\n")
    return Console(file=file, width=width, height=height, force_terminal=True, no_color=True)


def rows(shown: RenderableType, width: int = 80, height: int = 24) -> list[str]:
    """What stands on a terminal, without styles."""
    plain = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    with plain.capture() as capture:
        plain.print(shown, end="")
    return [line.rstrip() for line in capture.get().splitlines()]


def test_a_talk_at_the_width_of_most_terminals() -> None:
    assert rows(Screen(Moment(Floor.ANSWER, -60.4, LIVE))) == [
        "you      What do plants need to grow?",
        "voxring  Plants need light, water,",
        "you      And",
        "",
        "░░░░░░░░░░░░░░░░░░░░  -60 dB  voxring speaks",
        "m mute · space push to talk · i interrupt · q quit",
    ]


def test_a_narrow_terminal_wraps_beside_the_labels() -> None:
    assert rows(paint(TALK), width=60) == [
        "you      What do plants need to grow?",
        "voxring  Plants need light, water, nutrients, and proper",
        "         soil.",
        "304 ms   silence 60 · words 169 · first id 210 · first words",
        "         240 · turn over 252 · sound 295",
        "",
    ]


def test_a_wide_terminal_has_a_line_for_each_thing() -> None:
    assert len(rows(paint(TALK), width=120)) == 4


@pytest.mark.parametrize(
    ("moment", "status", "keys"),
    [
        (Moment(Floor.OPEN, -45.0), "listening", "m mute"),
        (Moment(Floor.USER, -20.0), "you speak", "m mute"),
        (Moment(Floor.THINKING), "thinking", "i interrupt"),
        (Moment(Floor.ANSWER), "voxring speaks", "i interrupt"),
        (Moment(Floor.HELD), "voxring waits for what you say", "i interrupt"),
        (Moment(is_muted=True), "microphone off", "m microphone on"),
        (Moment(Floor.ANSWER, is_muted=True), "voxring speaks", "m microphone on"),
        (Moment(is_pushed=True), "listening", "space done"),
        (Moment(is_pushed=True, is_held=True), "listening", "let go when done"),
    ],
)
def test_who_speaks_and_which_keys_help(moment: Moment, status: str, keys: str) -> None:
    *_, shown, offered = rows(Screen(moment), width=60)
    assert shown.endswith(status)
    assert keys in offered
    assert ("off" in shown) == moment.is_muted


def test_without_keys_none_are_offered() -> None:
    assert len(rows(Screen(Moment(has_keys=False)))) == 1


def test_of_what_does_not_fit_the_end_is_seen() -> None:
    live = (Running(1, "Tell me all.", True, " ".join(map(str, range(200)))),)
    shown = rows(Screen(Moment(Floor.ANSWER, live=live)), width=50, height=10)
    assert len(shown) == 9
    assert "199" in shown[-4]
    assert shown[-2].endswith("voxring speaks")


texts = st.text(st.sampled_from("ab 日é👩‍👩‍👧"), max_size=120).map(clean)  # as all that is shown
moments = st.builds(
    Moment,
    st.sampled_from(Floor),
    st.one_of(st.floats(-100, 0), st.just(-float("inf"))),
    st.lists(st.builds(Running, st.integers(0, 9), texts, st.booleans(), texts), max_size=3).map(
        tuple
    ),
    is_muted=st.booleans(),
    is_pushed=st.booleans(),
    is_held=st.booleans(),
    has_keys=st.booleans(),
)


def test_a_joiner_that_joins_nothing_is_no_row() -> None:
    live = (Running(0, "", False, clean("\u200d\u200d日a")),)
    assert rows(Screen(Moment(live=live, has_keys=False)), 20)[0].endswith("日a")


@given(moments, st.integers(1, 130), st.integers(1, 40))
def test_it_never_leaves_the_terminal(moment: Moment, width: int, height: int) -> None:
    shown = rows(Screen(moment), width, height)
    assert 1 <= len(shown) <= max(1, height - 1)
    if width >= 20:
        assert all(cell_len(line) <= width for line in shown)


@given(st.floats(-200, 10), st.integers(0, 100))
def test_the_meter_is_as_wide_as_it_is_and_grows_with_the_level(level: float, width: int) -> None:
    drawn = bar(level, width)
    assert len(drawn) == width
    assert drawn.count("█") <= bar(level + 5, width).count("█")


def test_the_ends_of_the_meter() -> None:
    assert bar(-float("inf"), 4) == bar(-60, 4) == "░░░░"
    assert bar(0, 4) == bar(3, 4) == "████"
    assert bar(-30, 4, ascii_only=True) == "##.."


def test_plain_lines_say_who_speaks_and_never_wrap() -> None:
    assert lines(TALK) == [
        "you: What do plants need to grow?",
        "voxring: Plants need light, water, nutrients, and proper soil.",
        f"latency: 304 ms ({TALK.phases})",
    ]
    assert lines(CUT) == [
        "you: Tell me more.",
        "voxring: They also …",
        "note: interrupted",
        "latency: 310 ms (words 170)",
    ]
    assert lines(Note("microphone is gone")) == ["note: microphone is gone"]


def test_what_was_cut_is_marked() -> None:
    assert rows(paint(CUT))[1] == "voxring  They also … (interrupted)"
    silent = Exchange(3, "Hm?", "", Outcome.EMPTY)
    assert rows(paint(silent))[1] == "voxring  (the language model had nothing to say)"


@pytest.mark.parametrize("entry", [TALK, CUT, Note("[bold]no markup[/bold]", is_trouble=True)])
def test_both_ways_show_the_same_words(entry: Entry) -> None:
    shown = " ".join(" ".join(rows(paint(entry), width=40)).split())
    for line in lines(entry):
        for word in line.partition(": ")[2].strip("()").split():
            assert word.strip("()") in shown


def test_a_moment_that_looks_the_same_is_not_drawn_again() -> None:
    screen = console()
    picture = Picture(screen)
    picture.draw(Moment(level=-40.2))
    drawn = screen.file.buffer.tell()  # type: ignore[attr-defined]
    screen.file.flush()
    picture.draw(Moment(level=-40.4))
    screen.file.flush()
    size = len(screen.file.buffer.getvalue())  # type: ignore[attr-defined]
    picture.draw(Moment(level=-40.1))
    screen.file.flush()
    assert drawn <= size == len(screen.file.buffer.getvalue())  # type: ignore[attr-defined]
    picture.draw(Moment(level=-30.0))
    picture.stop()
    picture.stop()
    screen.file.flush()
    written = screen.file.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert "-40 dB" in written
    assert "-30 dB" in written
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") == 1, "the cursor is back"


def test_a_terminal_without_unicode_has_a_meter_too() -> None:
    screen = console(encoding="ascii")
    display_for(screen).draw(Moment(level=-30.0, live=(Running(1, "Ça va?"),)))
    screen.file.flush()
    written = screen.file.buffer.getvalue()  # type: ignore[attr-defined]
    assert b"##########.........." in written
    assert b"?a va?" in written


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(display_for(console()), Picture)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(display_for(console()), PlainLines)
    assert isinstance(display_for(Console(file=io.StringIO())), PlainLines)
    monkeypatch.setenv("TERM", "xterm")
    forced = Console(file=io.StringIO(), force_terminal=True)
    assert isinstance(display_for(forced), PlainLines), "a pipe in which colours are wanted"
