"""Somebody speaks while an answer is heard, through all stages."""

import asyncio
from pathlib import Path

import soundfile

from pipeline.client_lane import ClientLane
from pipeline.events import Idle, TurnEnded
from pipeline.pipeline import Pipeline
from stages.event import Event
from stages.outcome import Outcome
from stages.tts.tones import read_whole_tones
from tests.pipeline.running import run, scripted, tone

REPLY = "The quick brown fox jumps over the lazy dog."
TONE_S = 0.06
VOICES = "turn.options={speech = [[300, 900], [2000, 2300], [3200, 3800]]}"
ANSWER = f'llm.options={{replies = ["{REPLY}", "Yes."], ids_per_s = 200}}'


async def _turns(lane: ClientLane, count: int) -> list[TurnEnded]:
    ended: list[TurnEnded] = []
    async for event in lane:
        if isinstance(event, TurnEnded):
            ended.append(event)
        if len(ended) == count:
            break
    return ended


def played(path: Path) -> str:
    """What can be heard in an answer's file, to the last whole tone."""
    samples, rate = soundfile.read(path, dtype="int16")
    return bytes(read_whole_tones(samples, rate, TONE_S)).decode()


def test_a_backchannel_pauses_an_answer_and_words_end_it(tmp_path: Path) -> None:
    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            first, second = tmp_path / "first.wav", tmp_path / "second.wav"
            lane.play(tone(tmp_path / "one.wav", 1.7), out=first)
            lane.play(tone(tmp_path / "two.wav", 2.0), out=second)
            cut, answered = await _turns(lane, 2)
            assert cut.timeline.outcome is Outcome.INTERRUPTED
            assert {Event.HOLD, Event.GO_ON, Event.INTERRUPT} <= set(cut.timeline.at)
            assert 15 < len(cut.heard) < 40
            assert (cut.reply, cut.heard) == (REPLY, played(first))
            assert answered.timeline.outcome is Outcome.ANSWERED
            assert (answered.transcript, answered.heard) == ("stop", "Yes.")
            assert lane.turns_begun == 2

    lines = 'asr.options={lines = ["go on", "uh-huh", "stop"]}'
    run(work, scripted(lines, "turn.release_ms=256", ANSWER, VOICES))


def test_a_greeting_and_the_silence_behind_it() -> None:
    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane, asyncio.timeout(10):
            (greeted,) = await _turns(lane, 1)
            assert greeted.timeline.outcome is Outcome.ANSWERED
            assert (greeted.reply, greeted.heard) == ("Hello!", "Hello!")
            assert greeted.timeline.first_audio_ms is None
            assert isinstance(await lane.next_event(), Idle)

    silence = "turn.options={speech = [[90000, 90001]]}"
    run(work, scripted("turn.greeting=Hello!", "turn.idle_s=0.5", silence))
