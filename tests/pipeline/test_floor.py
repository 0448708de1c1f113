"""Who speaks, and what was heard so far, of a conversation that runs."""

import asyncio
from itertools import groupby
from pathlib import Path

import pytest

from pipeline.floor import Floor, who_has_it
from pipeline.pipeline import Pipeline
from stages.messages import Command, Played
from stages.outcome import Outcome
from tests.pipeline.running import run, scripted, tone, until_turn_ended

REPLY = "It is time to speak."


@pytest.mark.parametrize(
    ("running", "answer", "released", "hold", "played", "floor"),
    [
        (False, 3, 3, False, Played(3, 9, True), Floor.OPEN),
        (True, 4, 3, False, Played(3, 9, True), Floor.USER),
        (True, 4, 4, False, Played(3, 9, True), Floor.THINKING),
        (True, 4, 4, False, Played(4, 0, False), Floor.ANSWER),
        (True, 4, 4, True, Played(4, 2, False), Floor.HELD),
        (True, 4, 4, False, Played(4, 9, True), Floor.THINKING),
        (True, 0, 2**32 - 1, False, Played(0, 0, False), Floor.USER),
    ],
)
def test_the_words_say_who_speaks(
    running: bool, answer: int, released: int, hold: bool, played: Played, floor: Floor
) -> None:
    assert (
        who_has_it(running=running, answer=answer, released=released, hold=hold, played=played)
        is floor
    )


def test_words_of_an_answer_are_told_as_they_are_heard(tmp_path: Path) -> None:
    """The model has written all of it long before: 20 ids in 0.2 s, which sound for 1.2 s."""

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            seen: list[tuple[Floor, str]] = []

            async def watch() -> None:
                while True:
                    seen.append((lane.floor, lane.heard))
                    await asyncio.sleep(0.005)

            watching = asyncio.create_task(watch())
            lane.play(tone(tmp_path / "clip.wav"))
            ended, _ = await until_turn_ended(lane)
            watching.cancel()
            assert lane.floor is Floor.OPEN
            assert lane.heard == "", "it is in the event now"
        assert ended.heard == REPLY
        told = [heard for heard, _ in groupby(heard for _, heard in seen) if heard]
        assert told == [REPLY[:count] for count in range(len(told[0]), len(told) + len(told[0]))]
        assert len(told) > 10
        assert all(not heard for floor, heard in seen if floor in (Floor.USER, Floor.OPEN))
        order = [floor for floor, _ in groupby(floor for floor, _ in seen)]
        passed = [floor for floor in order if floor is not Floor.THINKING]
        assert passed[:3] == [Floor.OPEN, Floor.USER, Floor.ANSWER]

    run(work)


def test_every_edge_takes_commands(tmp_path: Path) -> None:
    long_reply = f'llm.options={{replies = ["{"All work and no play. " * 20}"], ids_per_s = 50}}'

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav"))
            while not lane.heard:
                await asyncio.sleep(0.01)
            assert -100 <= lane.level_dbfs <= 0
            lane.command(Command.CANCEL)
            ended, _ = await until_turn_ended(lane)
            assert ended.timeline.outcome is Outcome.INTERRUPTED
            assert len(ended.heard) < 100

    run(work, scripted(long_reply))
