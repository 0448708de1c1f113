"""Stages that die or hang under a conversation, and are back: for real, with signals."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from pipeline.client_lane import ClientLane
from pipeline.config import Config, builtin_configs, load_config
from pipeline.errors import StageError
from pipeline.events import ClipEnded, Fault, ReplyText, TurnEnded
from pipeline.pipeline import Pipeline
from stages.messages import Command
from stages.outcome import Outcome
from stages.topology import STAGES
from tests.pipeline.running import BACK_S, back, run, tone, until_turn_ended

LONG = 'llm.options={replies = ["All work and no play makes Jack.", "Fine."], ids_per_s = 60}'
QUICK = "tts.options={tone_ms = 40}"


def listening(*overrides: str) -> Config:
    """Scripted stages whose user speaks whenever a clip is loud."""
    path = builtin_configs()["scripted"]
    return load_config(path, ["turn.release_ms=256", QUICK, *overrides], cores=2)


async def ask(lane: ClientLane, clip: Path) -> TurnEnded:
    lane.play(clip)
    ended, _ = await until_turn_ended(lane)
    return ended


@pytest.mark.parametrize("stage", STAGES)  # all phases, and stopped stages: benchmarks.drill
def test_a_stage_that_dies_in_an_answer_costs_that_turn_alone(stage: str, tmp_path: Path) -> None:
    clip = tone(tmp_path / "clip.wav", 0.5)

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane, await pipeline.open() as idle:
            lane.play(clip)
            async for event in lane:
                if isinstance(event, ReplyText) and len(event.text) > 4:
                    break
            old = pipeline.stages[stage]
            os.kill(old, signal.SIGKILL)
            ended, seen = await until_turn_ended(lane)
            assert ended.timeline.outcome is Outcome.FAILED
            faults = [e.message for e in seen if isinstance(e, Fault)]
            assert any(message.startswith(f"stage {stage} ") for message in faults)
            await back(pipeline, stage, old)
            for ended in await asyncio.gather(ask(lane, clip), ask(idle, clip)):
                assert ended.timeline.outcome is Outcome.ANSWERED
            assert lane.turns_begun == lane.turns_ended == 2

    run(work, listening(LONG))


def test_clips_that_are_ordered_while_the_edge_is_away_are_played_when_it_is_back(
    tmp_path: Path,
) -> None:
    """Those ordered between its first message and its first look at the lanes were lost."""
    clip = tone(tmp_path / "clip.wav", 0.5)

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as one, await pipeline.open() as other:
            os.kill(pipeline.stages["audio"], signal.SIGKILL)
            while not pipeline.away:
                await asyncio.sleep(0.001)
            for ended in await asyncio.gather(ask(one, clip), ask(other, clip)):
                assert ended.timeline.outcome is Outcome.ANSWERED
            assert one.clips_waiting == other.clips_waiting == 0

    run(work, listening())


@pytest.mark.parametrize("stage", ["turn", "audio"])
def test_a_microphone_that_is_off_stays_off_whatever_dies(stage: str, tmp_path: Path) -> None:
    """A stage that is started again begins with it on; the one who turned it off is elsewhere."""
    clip = tone(tmp_path / "clip.wav", 0.5)

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.command(Command.MUTE)
            old = pipeline.stages[stage]
            os.kill(old, signal.SIGKILL)
            await back(pipeline, stage, old)
            lane.play(clip)
            async for event in lane:
                if isinstance(event, ClipEnded):
                    assert event.error == ""
                    break
            assert lane.turns_begun == 0
            lane.command(Command.UNMUTE)
            assert (await ask(lane, clip)).timeline.outcome is Outcome.ANSWERED

    run(work, listening())


@pytest.mark.parametrize("stage", ["turn", "llm"])
def test_a_stage_that_dies_while_nobody_speaks_costs_nothing(stage: str, tmp_path: Path) -> None:
    clip = tone(tmp_path / "clip.wav", 0.5)

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            assert (await ask(lane, clip)).timeline.outcome is Outcome.ANSWERED
            old = pipeline.stages[stage]
            os.kill(old, signal.SIGKILL)
            await back(pipeline, stage, old)
            assert (await ask(lane, clip)).timeline.outcome is Outcome.ANSWERED
            assert lane.turns_begun == lane.turns_ended == 2

    run(work, listening())


def test_a_word_that_kills_its_stage_is_not_read_twice(tmp_path: Path) -> None:
    """The voice aborts on one word: that turn fails, the stage is back, and stays."""
    clip = tone(tmp_path / "clip.wav", 0.5)
    replies = 'llm.options={replies = ["Hello there: a button.", "Fine."], ids_per_s = 20}'
    voice = 'tts.options={tone_ms = 40, abort_on = "button"}'

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            old = pipeline.stages["tts"]
            assert (await ask(lane, clip)).timeline.outcome is Outcome.FAILED
            await back(pipeline, "tts", old)
            ended = await ask(lane, clip)
            assert (ended.timeline.outcome, ended.reply) == (Outcome.ANSWERED, "Fine.")

    run(work, listening(replies, voice))


def test_a_stage_that_dies_too_often_is_given_up_with_one_clear_line() -> None:
    async def work(pipeline: Pipeline) -> None:
        lane = await pipeline.open()
        for _ in range(3):
            old = pipeline.stages["asr"]
            os.kill(old, signal.SIGKILL)
            if _ < 2:
                await back(pipeline, "asr", old)
        await until_turn_ended(lane)

    with pytest.raises(StageError, match=r"stage asr was killed by SIGKILL.*, 3 times within 60 s"):
        run(work, listening("pipeline.restarts=2"))


def test_a_conversation_can_be_opened_and_closed_while_a_stage_is_away(tmp_path: Path) -> None:
    clip = tone(tmp_path / "clip.wav", 0.5)

    async def work(pipeline: Pipeline) -> None:
        first = await pipeline.open()
        os.kill(pipeline.stages["tts"], signal.SIGKILL)
        await first.close()
        async with await pipeline.open() as second:
            assert (await ask(second, clip)).timeline.outcome is Outcome.ANSWERED

    run(work, listening("pipeline.lanes=1"))


def test_a_killed_stage_is_back_soon() -> None:
    async def work(pipeline: Pipeline) -> float:
        old = pipeline.stages["llm"]
        os.kill(old, signal.SIGKILL)
        killed = time.monotonic()
        await back(pipeline, "llm", old)
        return time.monotonic() - killed

    assert run(work, listening()) < BACK_S


@pytest.mark.parametrize("command", [Command.LOCK, Command.OPEN])
def test_what_was_commanded_holds_though_turn_dies(command: Command, tmp_path: Path) -> None:
    """A stage that is started again knows of no lock, and of no push that is held."""
    clip = tone(tmp_path / "clip.wav", 0.5)

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.command(command)
            old = pipeline.stages["turn"]
            os.kill(old, signal.SIGKILL)
            await back(pipeline, "turn", old)
            lane.play(clip)
            if command is Command.OPEN:
                async for event in lane:
                    if isinstance(event, ClipEnded):
                        break
                await asyncio.sleep(0.6)  # far longer than the silence that ends a turn
                assert (lane.turns_begun, lane.turns_ended) == (1, 0)
                assert lane.lane.get("released") != lane.lane.get("answer")
                lane.command(Command.COMMIT)
            else:
                async for event in lane:
                    if isinstance(event, ReplyText) and len(event.text) > 4:
                        break
                lane.play(clip)  # over the answer
            ended, _ = await until_turn_ended(lane)
            assert ended.timeline.outcome is Outcome.ANSWERED

    run(work, listening(LONG))
