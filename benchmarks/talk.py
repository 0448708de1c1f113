"""Holds a conversation as `voxring talk` does, and prints what its terminal showed, now and then.

python -m benchmarks.talk > benchmarks/results/talk.txt     the recording of the README
"""

import argparse
import asyncio
import io
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console, RenderableType

from benchmarks.command import FAILED
from pipeline.commands.app import load
from pipeline.config import Config
from pipeline.errors import VoxringError
from pipeline.floor import Floor
from pipeline.pipeline import Pipeline
from pipeline.replay import Question, read_question
from pipeline.terminal.entry import Entry
from pipeline.terminal.paint import paint
from pipeline.terminal.screen import Moment, Screen
from pipeline.terminal.talk import Talk

CLIP = Path(__file__).parents[1] / "demos" / "question.wav"
WIDTH = 80
LOUD_DBFS = -40.0  # a voice in the pictures of a question
WORDS = range(1, 6)  # of an answer, in a picture of it


def is_silent(moment: Moment) -> bool:
    return moment.level < LOUD_DBFS and moment.floor is Floor.OPEN and not moment.live


def is_asked(moment: Moment) -> bool:
    words = [live.user for live in moment.live if live.user and not live.final]
    return moment.level > LOUD_DBFS and moment.floor is Floor.USER and bool(words)


def is_answered(moment: Moment) -> bool:
    return any(len(live.answer.split()) in WORDS for live in moment.live)


SCENES: dict[str, Callable[[Moment], bool]] = {
    "before anything is said": is_silent,
    "while the question is asked": is_asked,
    "while the answer is heard": is_answered,
}


class Film:
    """A display that keeps, of each scene in turn, the last picture.

    Args:
        now: the clock, s.
    """

    is_live = True

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._began = now()
        self._left = list(SCENES)
        self._pictures: dict[str, tuple[float, str]] = {}
        self._stays: list[str] = []

    def show(self, entry: Entry, moment: Moment | None = None) -> None:
        """What stays is the last picture."""
        self._stays.append(rendered(paint(entry)))

    def draw(self, moment: Moment) -> None:
        """Keep this moment, if it is of the scene that goes on, or of the next."""
        for scene in self._left[:2]:
            if SCENES[scene](moment):
                self._left = self._left[self._left.index(scene) :]
                self._pictures[scene] = (self._now() - self._began, rendered(Screen(moment)))
                return

    def stop(self) -> None:
        """Nothing to take away."""

    @property
    def is_whole(self) -> bool:
        """Every scene was seen."""
        return set(self._pictures) == set(SCENES) and bool(self._stays)

    def __str__(self) -> str:
        """All pictures, with their times."""
        titled = [f"[{at:.1f} s, {s}]\n{text}" for s, (at, text) in self._pictures.items()]
        end = f"[{self._now() - self._began:.1f} s, what stays]\n{''.join(self._stays)}"
        return "\n".join([*titled, end])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.talk",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, help="a TOML file or a built-in one")
    options = parser.parse_args(arguments)
    try:
        film = asyncio.run(record(load(options.config, ["audio.stage=file"]), read_question(CLIP)))
    except VoxringError as error:
        parser.exit(FAILED, f"error: {error}\n")
    sys.stdout.write(str(film))
    return 0 if film.is_whole else FAILED


async def record(config: Config, question: Question) -> Film:
    """The film of one conversation."""
    async with Pipeline(config) as pipeline:
        lane = await pipeline.open()
        film = Film(time.monotonic)
        await Talk(film, has_keys=True).hold(lane, [question])
        return film


def rendered(shown: RenderableType) -> str:
    """As it stands on a terminal, without colours."""
    console = Console(file=io.StringIO(), width=WIDTH, height=24, color_system=None)
    with console.capture() as capture:
        console.print(shown, end="")
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


if __name__ == "__main__":
    sys.exit(main())
