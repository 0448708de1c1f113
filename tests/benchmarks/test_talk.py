"""The film of a conversation: a picture of each scene, in order."""

import pytest
from rich.text import Text

from benchmarks.talk import SCENES, Film, main, rendered
from pipeline.floor import Floor
from pipeline.terminal.conversation import Running
from pipeline.terminal.entry import Note
from pipeline.terminal.screen import Moment

SILENT = Moment(Floor.OPEN, -60.0)
ASKED = Moment(Floor.USER, -20.0, (Running(1, "What"),))
MORE = Moment(Floor.USER, -20.0, (Running(1, "What do"),))
ANSWERED = Moment(Floor.ANSWER, -60.0, (Running(1, "What do?", True, "Plants need"),))


def film(*moments: Moment) -> Film:
    times = iter(range(100))
    made = Film(lambda: float(next(times)))
    for moment in moments:
        made.draw(moment)
    return made


def test_of_each_scene_the_last_picture_is_kept() -> None:
    made = film(SILENT, ASKED, MORE, SILENT, ANSWERED)
    assert not made.is_whole
    made.show(Note("the end"))
    assert made.is_whole
    shown = str(made)
    titles = [line for line in shown.splitlines() if line.startswith("[")]
    assert titles == [
        "[1.0 s, before anything is said]",
        "[3.0 s, while the question is asked]",
        "[4.0 s, while the answer is heard]",
        "[5.0 s, what stays]",
    ]
    assert "you      What do\n" in shown
    assert "voxring  Plants need\n" in shown
    assert shown.endswith("note     the end\n")


@pytest.mark.parametrize("without", range(3))
def test_a_film_that_lacks_a_scene_is_not_whole(without: int) -> None:
    moments = [SILENT, ASKED, ANSWERED]
    made = film(*(m for index, m in enumerate(moments) if index != without))
    made.show(Note("the end"))
    assert not made.is_whole
    assert len(SCENES) == 3


def test_it_is_plain_text_of_eighty_columns() -> None:
    assert rendered(Text("a " * 60, "red")) == f"{('a ' * 40).rstrip()}\n{('a ' * 20).rstrip()}\n"


def test_a_conversation_that_shows_too_little_is_a_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The scripted recogniser has no words before the last."""
    assert main(["--config", "scripted"]) == 1
    shown = capsys.readouterr().out
    assert "voxring  It is time to speak.\n" in shown
    assert "while the question is asked" not in shown
