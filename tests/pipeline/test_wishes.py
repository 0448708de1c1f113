"""What a program asks of its conversation outlives a stage that dies."""

import os
import signal

import numpy as np
import pytest

from pipeline.client_lane import ClientLane
from pipeline.events import ReplyEnded, Sound
from pipeline.pipeline import Pipeline
from stages.llm.part import Source
from stages.llm.wishes import Insert, Style, Truncate
from stages.messages import Command
from stages.outcome import Outcome
from stages.turn.settings import TurnSettings
from tests.pipeline.running import back, run, scripted, until_turn_ended

CLIENT = ("audio.stage=client", "turn.options={}", "llm.system=System.")


async def respond(lane: ClientLane, *, in_text: bool = True) -> int:
    """Ask for an answer; how many ids stood before it."""
    lane.command(Command.RESPOND)
    ended, seen = await until_turn_ended(lane)
    assert in_text != any(isinstance(e, Sound) and len(e.samples) for e in seen)
    assert ended.timeline.outcome is Outcome.ANSWERED
    (end,) = [event for event in seen if isinstance(event, ReplyEnded)]
    return end.asked


def typed(text: str) -> Insert:
    return Insert(source=Source.TYPED, number=1, text=text)


@pytest.mark.parametrize("stage", ["llm", "turn"])
def test_a_stage_that_is_started_again_knows_what_was_asked_of_it(stage: str) -> None:
    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.settle(TurnSettings(answers=False))
            lane.wish(Style(instructions="Be.", voice=False))
            lane.wish(typed("Hello"))
            assert await respond(lane) == len("Be.") + len("Hello") + 1
            old = pipeline.stages[stage]
            os.kill(old, signal.SIGKILL)
            await back(pipeline, stage, old)
            reply = len("It is time to speak.")
            before = len("Be.") + len("Hello") + 1 + reply
            assert await respond(lane) == before + 1 + 1, "an empty message of the user"
            times = np.arange(8000) / 16_000
            voice = (8000 * np.sin(2 * np.pi * 300 * times)).astype(np.int16)
            await lane.feed(np.concatenate([voice, np.zeros(16_000, np.int16)]))
            ended, _ = await until_turn_ended(lane)
            assert ended.timeline.outcome is Outcome.NOTED
            assert ended.transcript == "What time is it?"

    run(work, scripted(*CLIENT))


def test_an_answer_can_be_cut_after_it_was_heard() -> None:
    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.wish(typed("Hi"))
            asked = await respond(lane, in_text=False)
            assert asked == len("System.") + len("Hi") + 1
            count, text = lane.whole_words(1, 8)
            assert (count, text) == (5, "It is")
            lane.wish(Truncate(source=Source.REPLY, number=1, count=count))
            cut = await respond(lane, in_text=False)
            assert cut == asked + count + len("...") + 1 + 1

    run(work, scripted(*CLIENT))
