"""Conversations and pipelines that end early, late, twice, or while somebody waits."""

import asyncio
import contextlib
import os
import signal
import time

import numpy as np
import pytest

from pipeline.client_lane import ClientLane
from pipeline.errors import AudioError, SessionError, StageError
from pipeline.events import ReplyText, Sound
from pipeline.pipeline import Pipeline
from stages.messages import Command
from tests.pipeline.running import alive, run, scripted, tone, until_turn_ended, wait_until

CHATTY = f'llm.options={{replies = ["{"All work and no play. " * 20}"], ids_per_s = 200}}'
BUSY_ASR = 'asr.options={lines = ["What time is it?"], work_ms = 3000}'


async def drain(lane: ClientLane) -> None:
    async for _ in lane:
        pass


def test_leaving_while_a_stage_hangs_ends_everything_and_keeps_the_callers_error() -> None:
    pids: list[int] = []

    async def main() -> None:
        async with Pipeline(scripted()) as pipeline:
            await pipeline.open()
            pids.extend(pipeline.stages.values())
            os.kill(pipeline.stages["tts"], signal.SIGSTOP)
            raise KeyError("the caller's own")

    with pytest.raises(KeyError, match="the caller's own"):
        asyncio.run(main())
    assert len(pids) == 5
    assert wait_until(lambda: not any(map(alive, pids)), 2)


def test_an_interrupt_while_a_stage_is_busy_is_quick_and_stays_an_interrupt(tmp_path) -> None:
    clip = tone(tmp_path / "clip.wav")
    took = 0.0

    async def main() -> None:
        nonlocal took
        async with Pipeline(scripted(BUSY_ASR)) as pipeline, await pipeline.open() as lane:
            lane.play(clip)
            await asyncio.sleep(1.5)  # the decode is on
            os.kill(os.getpid(), signal.SIGINT)
            took = time.monotonic()
            await drain(lane)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert time.monotonic() - took < 2


def test_whoever_iterates_comes_to_an_end() -> None:
    async def work(pipeline: Pipeline) -> None:
        lane = await pipeline.open()
        reader = asyncio.create_task(drain(lane))
        await asyncio.sleep(0)
        await lane.close()
        await asyncio.wait_for(reader, 1)

    run(work)


def test_captions_that_nobody_read_do_not_deafen_the_next_session(tmp_path) -> None:
    clip = tone(tmp_path / "clip.wav")

    async def work(pipeline: Pipeline) -> None:
        for _ in range(3):
            async with await pipeline.open() as lane:
                lane.play(clip)
                async for event in lane:
                    if isinstance(event, ReplyText) and len(event.text) > 20:
                        break
                pipeline._lanes.pop(lane.number)  # from here on nobody reads what is told
                await asyncio.sleep(0.1)
        async with await pipeline.open() as lane:
            lane.play(clip)
            ended, _ = await until_turn_ended(lane)
            assert ended.reply.startswith("All work")

    run(work, scripted("pipeline.lanes=1", CHATTY, "llm.max_new_tokens=40"))


def test_a_cancelled_open_gives_its_lane_back() -> None:
    async def work(pipeline: Pipeline) -> None:
        for _ in range(6):
            opening = asyncio.create_task(pipeline.open())
            await asyncio.sleep(0)
            opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await opening).close()
            await asyncio.sleep(0.1)
        lanes = [await pipeline.open() for _ in range(2)]
        with pytest.raises(SessionError, match="all 2 lanes"):
            await pipeline.open()
        for lane in lanes:
            await lane.close()

    run(work, scripted("pipeline.lanes=2"))


def test_a_lane_that_closes_late_is_free_when_it_has() -> None:
    async def work(pipeline: Pipeline) -> None:
        lane = await pipeline.open()
        pid = pipeline.stages["tts"]
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(SessionError, match="tts did not follow session 2"):
            await lane.close()
        os.kill(pid, signal.SIGCONT)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            with contextlib.suppress(SessionError):
                await (await pipeline.open()).close()
                return
            await asyncio.sleep(0.05)
        raise AssertionError("the lane never came back")

    run(work, scripted("pipeline.lanes=1"))


def test_a_closed_conversation_says_so() -> None:
    async def work(pipeline: Pipeline) -> None:
        lane = await pipeline.open()
        await lane.close()
        with pytest.raises(SessionError, match="is closed"):
            await lane.feed(np.zeros(512, np.int16))
        with pytest.raises(SessionError, match="is closed"):
            lane.command(Command.CANCEL)
        with pytest.raises(SessionError, match="is closed"):
            lane.instruct("Be brief.")

    run(work, scripted("audio.stage=client"))


def test_a_feed_ends_with_its_conversation_and_with_a_stage() -> None:
    async def work(pipeline: Pipeline) -> None:
        lane = await pipeline.open()
        os.kill(pipeline.stages["turn"], signal.SIGSTOP)
        feeding = asyncio.create_task(lane.feed(np.zeros(16_000 * 20, np.int16)))
        await asyncio.sleep(0.1)
        assert not feeding.done()
        os.kill(pipeline.stages["turn"], signal.SIGKILL)
        with pytest.raises(StageError, match="stage turn was killed"):
            await feeding

    run(work, scripted("audio.stage=client", "pipeline.restarts=0"))


def test_clips_are_for_the_file_edge(tmp_path) -> None:
    async def work(pipeline: Pipeline) -> None:
        async with await pipeline.open() as lane:
            with pytest.raises(AudioError, match='only the edge "file" plays clips'):
                lane.play(tone(tmp_path / "clip.wav"))
            with pytest.raises(AudioError, match="at most"):
                lane.instruct("x" * 80_000)

    run(work, scripted("audio.stage=client"))


def test_using_a_pipeline_that_does_not_run() -> None:
    pipeline = Pipeline(scripted())
    with pytest.raises(SessionError, match="inside `async with`"):
        asyncio.run(pipeline.open())


def test_an_open_that_is_pending_at_the_end_is_told_so() -> None:
    async def main() -> None:
        async with Pipeline(scripted()) as pipeline:
            os.kill(pipeline.stages["llm"], signal.SIGSTOP)
            opening = asyncio.create_task(pipeline.open())
            await asyncio.sleep(0.05)
        with pytest.raises(SessionError, match="the pipeline has ended"):
            await opening

    asyncio.run(main())


def test_a_start_that_takes_too_long_names_who() -> None:
    async def work(pipeline: Pipeline) -> None:
        raise AssertionError("it started")

    with pytest.raises(StageError, match=r"\w+ not ready after 0 s"):
        run(work, scripted("pipeline.ready_timeout_s=0.05"))


def test_a_callback_that_raises_costs_nothing() -> None:
    def broken(program: str, text: str, fraction: float | None) -> None:
        raise RuntimeError("mine")

    async def main() -> None:
        async with Pipeline(scripted(), broken) as pipeline:
            await (await pipeline.open()).close()

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_long_configuration_travels_too() -> None:
    async def work(pipeline: Pipeline) -> None:
        await (await pipeline.open()).close()

    run(work, scripted(f'asr.options={{lines = ["{"x" * 100_000}"]}}'))


def test_what_a_stage_started_ends_with_it(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper that ignores SIGTERM, too."""
    (tmp_path / "with_helper.py").write_text(
        "import subprocess, sys\n"
        "from stages.asr.scripted import ScriptedAsr\n"
        "class Asr(ScriptedAsr):\n"
        "    def load(self):\n"
        "        super().load()\n"
        "        code = 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)'\n"
        "        helper = subprocess.Popen([sys.executable, '-c', code])\n"
        f"        open({str(tmp_path / 'pid')!r}, 'w').write(str(helper.pid))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")

    async def work(pipeline: Pipeline) -> int:
        return int((tmp_path / "pid").read_text())

    helper = run(work, scripted("asr.stage=with_helper:Asr"))
    assert wait_until(lambda: not alive(helper), 2)


def test_sound_of_a_closed_conversation_goes_nowhere() -> None:
    async def work(pipeline: Pipeline) -> None:
        lane = await pipeline.open()
        await lane.feed(np.zeros(16_000 * 3, np.int16))
        async for event in lane:
            if isinstance(event, Sound):
                break
        await lane.close()
        async with await pipeline.open() as second:
            assert second.turns_begun == 0
            second.tell(ReplyText(0, 0, "first"))
            assert await second.next_event() == ReplyText(0, 0, "first")

    run(work, scripted("audio.stage=client", CHATTY))
