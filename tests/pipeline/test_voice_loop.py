"""Real programs with scripted stages: a question in, an answer out."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.errors import AudioError, SessionError
from pipeline.events import ClipEnded, ReplyText, Sound, UserText
from pipeline.pipeline import Pipeline
from stages.messages import Command
from stages.outcome import Outcome
from stages.tts.tones import read_tones
from tests.pipeline.running import run, scripted, tone, until_turn_ended

REPLY = "It is time to speak."


def test_a_clip_is_answered_into_a_file(tmp_path: Path) -> None:
    out = tmp_path / "answer.wav"

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav"), speech_end_s=0.4, out=out)
            ended, seen = await until_turn_ended(lane)
        assert ended.timeline.outcome is Outcome.ANSWERED
        assert (ended.transcript, ended.reply) == ("What time is it?", REPLY)
        assert UserText(ended.timeline.turn, "What time is it?", final=True) in seen
        assert [e.text for e in seen if isinstance(e, ReplyText)][-1] == REPLY
        assert ClipEnded("") in seen
        phases = list(ended.timeline.phases)
        expected = ["silence", "decode_start", "soft_end", "transcript", "release", "first_audio"]
        assert [name for name in phases if name in expected] == expected
        assert phases.index("first_words") < phases.index("first_sound"), "both by tts"
        assert ended.timeline.speech_end_source == "clip"
        assert ended.timeline.first_audio_ms == ended.timeline.phases["first_audio"]
        assert ended.timeline.lost == 0

    run(work)
    samples, rate = soundfile.read(out, dtype="int16")
    assert bytes(read_tones(samples, rate)).decode() == REPLY


def test_words_reach_the_language_model_while_they_are_spoken(tmp_path: Path) -> None:
    said = "asr.options={lines = ['one two three four five six'], words_per_s = 4}"
    speech = "turn.options={speech = [[300, 2000]]}"

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav", 2.1))
            ended, seen = await until_turn_ended(lane)
        texts = [(event.text, event.final) for event in seen if isinstance(event, UserText)]
        assert texts[-1] == ("one two three four five six", True)
        assert texts[0] in (("one two", False), ("one two three", False))
        early, words = ended.timeline.early or (0, 0)
        assert words == len("one two three four five six")
        assert len("one two three") <= early < words

    run(work, scripted(said, speech))


def test_the_answer_is_prepared_while_nobody_knows_whether_the_turn_is_over(
    tmp_path: Path,
) -> None:
    """The pause of 250 ms begins an answer; the user goes on, and it is never heard."""
    speech = "turn.options={speech = [[300, 700], [960, 1300]]}"

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.play(tone(tmp_path / "clip.wav", 1.5), out=tmp_path / "answer.wav")
            ended, seen = await until_turn_ended(lane)
        replies = {event.answer for event in seen if isinstance(event, ReplyText)}
        assert ended.timeline.answer == 2, "one answer was prepared in vain"
        assert replies == {2}, "and nothing was told of it"
        assert ended.timeline.outcome is Outcome.ANSWERED
        assert ended.reply == REPLY

    run(work, scripted(speech, "turn.release_ms=600"))
    samples, rate = soundfile.read(tmp_path / "answer.wav", dtype="int16")
    assert bytes(read_tones(samples, rate)).decode() == REPLY


def test_lanes_do_not_hear_each_other(tmp_path: Path) -> None:
    clip = tone(tmp_path / "clip.wav")

    async def ask(pipeline: Pipeline, name: str) -> None:
        async with await pipeline.open() as lane:
            lane.play(clip, out=tmp_path / f"{name}.wav")
            ended, _ = await until_turn_ended(lane)
            assert (ended.transcript, ended.reply) == ("What time is it?", REPLY)

    async def work(pipeline: Pipeline) -> None:
        await asyncio.gather(*(ask(pipeline, name) for name in ("one", "two", "three")))

    run(work)
    for name in ("one", "two", "three"):
        samples, rate = soundfile.read(tmp_path / f"{name}.wav", dtype="int16")
        assert bytes(read_tones(samples, rate)).decode() == REPLY


def test_nothing_of_a_session_reaches_the_next_on_its_lane(tmp_path: Path) -> None:
    """The first session is closed in the middle of its answer, with every ring in use."""
    lines = 'asr.options={lines = ["My name is Ada."]}'
    long_reply = f'llm.options={{replies = ["{"Hello Ada. " * 20}"], ids_per_s = 200}}'

    async def work(pipeline: Pipeline) -> None:
        clip = tone(tmp_path / "clip.wav")
        first = await pipeline.open()
        first.play(clip)
        async for event in first:
            if isinstance(event, ReplyText) and len(event.text) > 40:
                break
        await first.close()
        async with await pipeline.open() as second:
            assert second.number == first.number
            rings = second.lane.rings
            assert all(len(r) == 0 for name, r in rings.items() if name in ("heard", "reply"))
            second.play(clip)
            ended, seen = await until_turn_ended(second)
            texts = [event for event in seen if isinstance(event, ReplyText)]
            assert texts[0].text.startswith("Hello Ada. "), "the reply begins at its beginning"
            assert {event.turn for event in texts} == {ended.timeline.turn}

    run(work, scripted("pipeline.lanes=1", lines, long_reply))


def test_lanes_run_out_and_come_back() -> None:
    async def work(pipeline: Pipeline) -> None:
        lane = await pipeline.open()
        with pytest.raises(SessionError, match="all 1 lanes are in use"):
            await pipeline.open()
        await lane.close()
        await lane.close()
        with pytest.raises(SessionError, match="closed"):
            await lane.next_event()
        for _ in range(20):
            await (await pipeline.open()).close()

    run(work, scripted("pipeline.lanes=1"))


def test_a_program_can_be_its_own_edge() -> None:
    async def work(pipeline: Pipeline) -> list[Sound]:
        async with await pipeline.open() as lane:
            with pytest.raises(AudioError, match="int16"):
                await lane.feed(np.zeros(10))
            lane.instruct("Be brief.")
            await lane.feed(np.zeros(16_000 * 3, np.int16))
            ended, seen = await until_turn_ended(lane)
            assert (ended.timeline.outcome, ended.reply) == (Outcome.ANSWERED, REPLY)
            assert ended.timeline.speech_end_source == "vad"
            return [event for event in seen if isinstance(event, Sound)]

    sounds = run(work, scripted("audio.stage=client"))
    ids = read_tones(np.concatenate([sound.samples for sound in sounds]), sounds[0].rate)
    assert bytes(ids).decode() == REPLY


def test_only_the_client_edge_can_be_fed() -> None:
    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            with pytest.raises(AudioError, match=r"be fed\. Set audio\.stage = 'client'"):
                await lane.feed(np.zeros(10, np.int16))

    run(work)


def test_a_program_can_stop_the_answer() -> None:
    long_reply = f'llm.options={{replies = ["{"All work and no play. " * 20}"], ids_per_s = 50}}'

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            await lane.feed(np.zeros(16_000 * 3, np.int16))
            async for event in lane:
                if isinstance(event, Sound):
                    break
            lane.command(Command.CANCEL)
            ended, seen = await until_turn_ended(lane)
            assert ended.timeline.outcome is Outcome.INTERRUPTED
            assert len(ended.reply) < 440
            assert sum(len(e.samples) for e in seen if isinstance(e, Sound)) < 22_050

    run(work, scripted("audio.stage=client", long_reply))


NO_SPEECH, EMPTY, FAILED = Outcome.NO_SPEECH, Outcome.EMPTY, Outcome.FAILED
ANSWERED, TIMED_OUT = Outcome.ANSWERED, Outcome.TIMED_OUT
WORDS = 'asr.options={lines = ["", "boom", "one", "two"], fail_on = "boom"}'


@pytest.mark.parametrize(
    ("overrides", "outcomes"),
    [
        (
            [WORDS, 'llm.options={replies = ["Yes.", " \\n"]}'],
            [NO_SPEECH, FAILED, ANSWERED, EMPTY, NO_SPEECH],
        ),
        (
            ['tts.options={fail_on = "speak"}', 'llm.options={replies = ["I speak."]}'],
            [FAILED, FAILED],
        ),
        (['llm.options={replies = ["Hello there."], fail_after = 3}'], [FAILED, FAILED]),
        (['llm.options={replies = ["Hello there."], fail_after = 0}'], [FAILED, FAILED]),
        (['llm.options={replies = ["Late."], first_id_ms = 5000}'], [TIMED_OUT, TIMED_OUT]),
    ],
    ids=["words", "voice", "model, midway", "model, at once", "model, never"],
)
def test_every_way_a_turn_can_end(
    overrides: list[str], outcomes: list[Outcome], tmp_path: Path
) -> None:
    """And after each the lane still works: its next turn ends too."""
    every_ms = 2000 if TIMED_OUT in outcomes else 1300  # longer than any turn
    begins = [100 + turn * every_ms for turn in range(len(outcomes))]
    speech = f"turn.options={{speech = {[[begin, begin + 200] for begin in begins]}}}"

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.play(
                tone(tmp_path / "clip.wav", every_ms / 1000 * len(outcomes)), speech_end_s=0.3
            )
            for turn, outcome in enumerate(outcomes, 1):
                timeline = (await until_turn_ended(lane))[0].timeline
                assert (timeline.turn, timeline.outcome) == (turn, outcome)
                if outcome not in (ANSWERED, FAILED):
                    assert timeline.first_audio_ms is None

    limits = ("turn.answer_timeout_s=1.0", "turn.release_ms=256")
    run(work, scripted(speech, *limits, *overrides))


def test_a_bad_clip_is_told_and_the_lane_goes_on(tmp_path: Path) -> None:
    (tmp_path / "bad.wav").write_bytes(b"no sound at all")

    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            lane.play(tmp_path / "bad.wav")
            event = await lane.next_event()
            assert isinstance(event, ClipEnded)
            assert "bad.wav" in event.error
            ended, _ = await until_turn_ended(lane)
            assert ended.timeline.outcome is Outcome.ANSWERED

    run(work)
